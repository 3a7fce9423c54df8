#include "bench/harness/contest.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness/filter.h"

namespace corank::bench {
namespace {

/// The results of the cases of one run.
struct Results {
  std::vector<Row> rows;
  size_t printed = 0;
  bool failed = false;
  bool write_failed = false;
};

absl::Status RunOnce(const std::vector<Contestant>& contestants, std::vector<std::vector<double>>* samples) {
  for (size_t i = 0; i < contestants.size(); ++i) {
    const absl::StatusOr<double> seconds = contestants[i].run();
    if (!seconds.ok()) {
      return absl::Status(seconds.status().code(), absl::StrCat(contestants[i].name, ": ", seconds.status().message()));
    }
    if (samples != nullptr) (*samples)[i].push_back(*seconds);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Row>> RunCase(const Case& entry, benchmark::State& state) {
  absl::StatusOr<Contest> contest = entry.prepare();
  if (!contest.ok()) return contest.status();
  absl::Status status = RunOnce(contest->contestants, nullptr);
  if (status.ok() && contest->check) status = contest->check();
  if (!status.ok()) return status;
  std::vector<std::vector<double>> samples(contest->contestants.size());
  for (auto _ : state) {
    status = RunOnce(contest->contestants, &samples);
    if (!status.ok()) return status;
    state.SetIterationTime(samples[0].back());
  }
  std::vector<Summary> seconds;
  for (const std::vector<double>& side : samples) seconds.push_back(Summarize(side));
  std::vector<Row> rows = contest->rows(seconds);
  for (Row& row : rows) {
    if (contest->check && !row.checked) row.checked = true;
  }
  return rows;
}

/// Prints our rows instead of Google Benchmark's table, which shows one side only.
class RowReporter : public benchmark::BenchmarkReporter {
 public:
  explicit RowReporter(Results* results) : results_(results) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {
    for (; results_->printed < results_->rows.size(); ++results_->printed) {
      std::printf("%s\n", FormatRow(results_->rows[results_->printed]).c_str());
    }
    std::fflush(stdout);
  }

 private:
  Results* results_;
};

}  // namespace

int RunSuite(const SuiteOptions& options, std::vector<Case> cases) {
  Results results;
  const auto matches = MakeFilter(options.filter);
  if (!matches.ok()) {
    std::fprintf(stderr, "%s\n", std::string(matches.status().message()).c_str());
    return 1;
  }
  size_t matching = 0;
  for (const Case& entry : cases) {
    if (!(*matches)(entry.name)) continue;
    ++matching;
    benchmark::RegisterBenchmark(entry.name.c_str(),
                                 [&results, &options, &entry](benchmark::State& state) {
                                   absl::StatusOr<std::vector<Row>> rows = RunCase(entry, state);
                                   if (rows.ok()) {
                                     for (Row& row : *rows) {
                                       if (!options.with_goals) row.DropGoal();
                                       results.rows.push_back(std::move(row));
                                     }
                                   } else {
                                     results.failed = true;
                                     Row row = entry.failure_row;
                                     row.error = std::string(rows.status().message());
                                     results.rows.push_back(std::move(row));
                                     state.SkipWithError(results.rows.back().error.c_str());
                                   }
                                   if (options.out.empty()) return;
                                   const absl::Status status =
                                       WriteFileAtomically(options.out, ToJson(options.info, results.rows));
                                   if (!status.ok()) results.write_failed = true;
                                 })
        ->UseManualTime()
        ->Iterations(entry.repetitions);
  }
  if (matching == 0) {
    std::fprintf(stderr, "no case matches the filter %s\n", options.filter.c_str());
    return 1;
  }
  // Google Benchmark gets no arguments: it would append them to the names that its filter searches.
  std::string program = "bench";
  char* arguments[] = {program.data(), nullptr};
  int count = 1;
  benchmark::Initialize(&count, arguments);
  RowReporter reporter(&results);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (results.write_failed) std::fprintf(stderr, "cannot write %s\n", options.out.c_str());
  return results.failed || results.write_failed ? 1 : 0;
}

Summary GigaPerSecond(const Summary& seconds, double work) {
  const auto rate = [work](double s) { return s > 0 ? work / s * 1e-9 : 0; };
  return {rate(seconds.median), rate(seconds.p90), rate(seconds.p10), seconds.samples};
}

Summary Microseconds(const Summary& seconds) {
  return {seconds.median * 1e6, seconds.p10 * 1e6, seconds.p90 * 1e6, seconds.samples};
}

}  // namespace corank::bench
