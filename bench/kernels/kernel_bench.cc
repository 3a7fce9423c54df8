// kernel_bench: the CUDA engine's kernels, device memory to device memory, beside CUB and Thrust in the same process.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/harness/contest.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/gpu.h"

ABSL_FLAG(std::string, filter, ".*", "regular expression, searched in the names of the cases");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(bool, quick, false, "small arrays and few repetitions: shows that it works, not how fast it is");
ABSL_FLAG(int, max_log2, 30, "no sort of more than 2^this elements");
ABSL_FLAG(int, device, 0, "the GPU's ordinal");

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "kernel_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  corank::bench::ParseFlags("measures the CUDA kernels beside CUB and Thrust", argc, argv);

  const auto gpu = corank::bench::Gpu::Create(absl::GetFlag(FLAGS_device));
  if (!gpu.ok()) return Fail(gpu.status());

  corank::bench::KernelBenchOptions options;
  options.quick = absl::GetFlag(FLAGS_quick);
  options.max_log2 = options.quick ? 18 : absl::GetFlag(FLAGS_max_log2);
  corank::bench::Ceilings ceilings;
  const absl::Status measured = MeasureCeilings(gpu->get(), &ceilings);
  if (!measured.ok()) return Fail(measured);

  std::vector<corank::bench::Case> cases;
  AddCeilingCases(options, gpu->get(), &cases);
  AddSortCases(options, gpu->get(), &cases);
  AddColumnCases(options, gpu->get(), &cases);
  AddSegmentedCases(options, gpu->get(), &cases);
  AddMergeCases(options, gpu->get(), &ceilings, &cases);
  AddGroupCases(options, gpu->get(), &cases);
  AddSetCases(options, gpu->get(), &cases);
  AddJoinCases(options, gpu->get(), &cases);
  AddSelectCases(options, gpu->get(), &cases);
  AddTopKCases(options, gpu->get(), &ceilings, &cases);
  AddInsertCases(options, gpu->get(), &cases);
  AddRankCases(options, gpu->get(), &cases);
  AddSearchCases(options, gpu->get(), &cases);
  AddIntervalCases(options, gpu->get(), &ceilings, &cases);

  corank::bench::SuiteOptions suite;
  suite.filter = absl::GetFlag(FLAGS_filter);
  suite.out = absl::GetFlag(FLAGS_out);
  suite.with_goals = options.max_log2 >= 28;
  suite.info = corank::bench::DescribeRun(absl::StrCat((*gpu)->description(), "; ", corank::bench::DescribeHost()),
                                          absl::GetFlag(FLAGS_commit), argc, argv);
  return RunSuite(suite, std::move(cases));
}
