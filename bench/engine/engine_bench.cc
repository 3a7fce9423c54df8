// engine_bench: the CPU engine, host to host, beside std::sort, std::stable_sort, std::merge, a memcpy loop and
// Highway's VQSort, each on one thread, in the same process.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/engine/cases.h"
#include "bench/harness/contest.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "kernels/cpu/cpu_engine.h"

ABSL_FLAG(std::string, filter, ".*", "regular expression, searched in the names of the cases");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(bool, quick, false, "small arrays and few repetitions: shows that it works, not how fast it is");
ABSL_FLAG(int, threads, 0, "threads of the CPU engine; 0 means all cores");

int main(int argc, char** argv) {
  corank::bench::ParseFlags("measures the CPU engine beside std:: and Highway", argc, argv);

  corank::CpuEngineOptions engine_options;
  engine_options.threads = absl::GetFlag(FLAGS_threads);
  const auto engine = corank::CreateCpuEngine(engine_options);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().ToString().c_str());
    return 1;
  }
  const auto stream = (*engine)->CreateStream();
  if (!stream.ok()) {
    std::fprintf(stderr, "%s\n", stream.status().ToString().c_str());
    return 1;
  }

  corank::bench::EngineBenchOptions options;
  if (absl::GetFlag(FLAGS_quick)) {
    options.log2_count = 16;
    options.repetitions = 3;
  }
  std::vector<corank::bench::Case> cases;
  AddSortCases(options, stream->get(), &cases);
  AddMergeCases(options, stream->get(), &cases);
  AddSearchCases(options, stream->get(), &cases);
  AddIntervalCases(options, stream->get(), &cases);

  corank::bench::SuiteOptions suite;
  suite.filter = absl::GetFlag(FLAGS_filter);
  suite.out = absl::GetFlag(FLAGS_out);
  suite.with_goals = !absl::GetFlag(FLAGS_quick);
  suite.info = corank::bench::DescribeRun(
      absl::StrCat(corank::bench::DescribeHost(), ", ", (*engine)->info().parallelism, " threads of the CPU engine"),
      absl::GetFlag(FLAGS_commit), argc, argv);
  return RunSuite(suite, std::move(cases));
}
