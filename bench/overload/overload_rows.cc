#include "bench/overload/overload_rows.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/statistics.h"
#include "bench/overload/server_counts.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "bench/service/inline_work.h"

namespace corank::bench {
namespace {

constexpr absl::Duration kLeastDeadline = absl::Milliseconds(20);
constexpr double kDeadlineCalls = 50;
constexpr double kMostMissing = 0.05;  // the share of a load that may be missing
constexpr double kBelowCapacity = 0.9;
constexpr double kMostAbove = 1.25;  // of all answers in time, relative to the capacity measured before

Row MakeRow(const OverloadWork& work, const std::string& what, double load, const std::string& unit) {
  Row row;
  row.row = absl::StrCat(work.name, ": ", what);
  row.type = work.type;
  row.n = work.keys;
  row.distribution = absl::StrFormat("%g x capacity", load);
  row.unit = unit;
  return row;
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 100 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Row ShareRow(const OverloadWork& work, const std::string& what, double load, int64_t part, int64_t whole) {
  Row row = MakeRow(work, what, load, "%");
  row.ours = Summarize({Share(part, whole)});
  row.details = {{"calls", static_cast<double>(whole)}};
  row.goal = "all";
  row.met = part == whole;
  return row;
}

// The outcome of one load.
struct Outcome {
  OpenLoopResult calls;
  int64_t arrived = 0;  // calls that reached the server
  double client_cores = 0, server_cores = 0;
};

absl::StatusOr<Outcome> Send(LightClient& client, const OverloadWork& work, const OpenLoop& loop,
                             const OverloadOptions& options) {
  const absl::StatusOr<int64_t> arrived_before = CountArrivedSorts(options.metrics_address);
  if (!arrived_before.ok()) return arrived_before.status();
  const double client_before = CpuSeconds(getpid()), server_before = CpuSeconds(options.corankd_pid);
  Outcome outcome;
  outcome.calls = RunOpenLoop(client, work.requests, loop);
  outcome.client_cores = (CpuSeconds(getpid()) - client_before) / outcome.calls.seconds;
  outcome.server_cores = (CpuSeconds(options.corankd_pid) - server_before) / outcome.calls.seconds;
  const absl::StatusOr<int64_t> arrived = CountArrivedSorts(options.metrics_address);
  if (!arrived.ok()) return arrived.status();
  outcome.arrived = *arrived - *arrived_before;
  return outcome;
}

Row GoodputRow(const OverloadWork& work, double load, const OpenLoop& loop, const Outcome& outcome) {
  const OpenLoopResult& calls = outcome.calls;
  Row row = MakeRow(work, "answers in time", load, "calls/s");
  row.ours = Summarize({calls.Goodput()});
  row.checked = calls[Ending::kWrong] == 0;
  row.details = {
      {"deadline_ms", absl::ToDoubleMilliseconds(loop.deadline)},
      {"offered_per_s", loop.calls_per_second},
      {"begun_per_s", static_cast<double>(calls.sent()) / calls.seconds},
      {"arrived_per_s", static_cast<double>(outcome.arrived) / calls.seconds},
      {"client_cores", outcome.client_cores},
      {"server_cores", outcome.server_cores},
      {"sent", static_cast<double>(calls.sent())},
      {"in_time", static_cast<double>(calls[Ending::kInTime])},
      {"wrong", static_cast<double>(calls[Ending::kWrong])},
      {"refused", static_cast<double>(calls[Ending::kRefused])},
      {"refused_without_retry_info", static_cast<double>(calls.refused_without_retry_info)},
      {"late", static_cast<double>(calls[Ending::kLate])},
      {"failed", static_cast<double>(calls[Ending::kFailed])},
      {"p50_ms", Quantile(calls.latency_us, 0.5) * 1e-3},
      {"p99_ms", Quantile(calls.latency_us, 0.99) * 1e-3},
  };
  row.note = WhyNoLoad(loop.calls_per_second, loop.duration, calls.seconds, calls.sent(), outcome.arrived);
  if (calls[Ending::kFailed] > 0) row.error = absl::StrJoin(calls.failures, "; ");
  return row;
}

std::vector<Row> ShareRows(const OverloadWork& work, double load, const Outcome& outcome) {
  const OpenLoopResult& calls = outcome.calls;
  const int64_t answered = calls[Ending::kInTime] + calls[Ending::kWrong];
  const int64_t refused = calls[Ending::kRefused];
  // The server cannot have accepted a call that did not arrive whole.
  const int64_t late = std::max<int64_t>(0, calls[Ending::kLate] - (calls.sent() - outcome.arrived));
  std::vector<Row> rows = {
      ShareRow(work, "accepted calls that were answered in time", load, answered, answered + late),
      ShareRow(work, "refusals with RetryInfo", load, refused - calls.refused_without_retry_info, refused),
      ShareRow(work, "right answers", load, calls[Ending::kInTime], answered),
  };
  rows[1].note = calls.without_retry_info;
  return rows;
}

}  // namespace

std::string WhyNoLoad(double offered_per_s, absl::Duration duration, double seconds, int64_t sent, int64_t arrived) {
  if (absl::ToDoubleSeconds(duration) < (1 - kMostMissing) * seconds) {
    return absl::StrFormat("the client was the limit: it began %.0f of %.0f calls/s",
                           static_cast<double>(sent) / seconds, offered_per_s);
  }
  if (static_cast<double>(arrived) < (1 - kMostMissing) * static_cast<double>(sent)) {
    return absl::StrFormat("the way to the server was the limit: %.0f of %.0f calls/s came through",
                           static_cast<double>(arrived) / seconds, offered_per_s);
  }
  return "";
}

absl::StatusOr<std::vector<Row>> MeasureOverload(const OverloadWork& work, const OverloadOptions& options) {
  absl::StatusOr<std::unique_ptr<LightClient>> client =
      LightClient::Connect(options.address, options.connections, options.client_threads);
  if (!client.ok()) return client.status();
  const LightRequest& first = work.requests.front().message;
  // Once to warm up: the server learns its speed and allocates its memory.
  absl::StatusOr<LoopResult> closed = RunClosedLoop(**client, first, 0, work.in_flight, options.phase / 2);
  if (closed.ok()) closed = RunClosedLoop(**client, first, 0, work.in_flight, options.phase);
  if (!closed.ok()) return closed.status();
  const double capacity = static_cast<double>(closed->latency_us.size()) / closed->seconds;

  OpenLoop loop;
  loop.duration = options.phase;
  loop.deadline = options.deadline > absl::ZeroDuration()
                      ? options.deadline
                      : std::max(kLeastDeadline, absl::Seconds(kDeadlineCalls / capacity));
  std::vector<Row> rows;
  double peak = 0;
  Outcome last;
  for (const OverloadLoad& load : work.loads) {
    loop.calls_per_second = load.of_capacity * capacity;
    loop.seed = options.seed + rows.size();
    absl::StatusOr<Outcome> outcome = Send(**client, work, loop, options);
    if (!outcome.ok()) return outcome.status();
    last = *std::move(outcome);
    peak = std::max(peak, last.calls.Goodput());
    rows.push_back(GoodputRow(work, load.of_capacity, loop, last));
    rows.back().details["capacity_per_s"] = capacity;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const OverloadLoad& load = work.loads[i];
    const bool is_below = load.of_capacity <= kBelowCapacity;
    rows[i].reference_name = is_below ? "offered" : "the best of all loads";
    rows[i].reference = Summarize({is_below ? rows[i].details["offered_per_s"] : peak});
    if (load.goal > 0) rows[i].RequireRatio(load.goal);
    if (i + 1 < rows.size() && !rows[i].note.empty()) {
      rows[i].DropGoal();
      rows[i].note = absl::StrCat("not judged: ", rows[i].note);
    }
  }
  const std::string no_load = std::exchange(rows.back().note, "");
  std::string less;
  if (peak > kMostAbove * capacity) {
    less = absl::StrFormat("the capacity was found too low, the load is %.1f x the best of all loads",
                           loop.calls_per_second / peak);
  }
  std::vector<Row> judged = ShareRows(work, work.loads.back().of_capacity, last);
  judged.insert(judged.begin(), std::move(rows.back()));
  rows.pop_back();
  for (Row& row : judged) {
    // A goal missed below its load is missed.
    const std::string& why = no_load.empty() && row.met == true ? less : no_load;
    if (!why.empty()) {
      row.DropGoal();
      absl::StrAppend(&row.note, row.note.empty() ? "" : "; ", "not judged: ", why);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace corank::bench
