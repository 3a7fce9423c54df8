// overload_bench: corankd when it is asked for more than it can do.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/overload/overload_rows.h"
#include "bench/service/corankd_process.h"

ABSL_FLAG(std::string, corankd, "", "the server to load; by default the one beside this program");
ABSL_FLAG(std::string, engine, "auto", "corankd's engine");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(int64_t, keys, 0, "u64 keys of each array; 0: 2^21 on a GPU, 2^17 on a CPU");
ABSL_FLAG(absl::Duration, phase, absl::Seconds(5), "length of each load");
ABSL_FLAG(absl::Duration, deadline, absl::ZeroDuration(), "of each call; 0: the time of 50 calls at capacity");
ABSL_FLAG(bool, quick, false, "short loads and small arrays: shows that it works, not what is left under load");

namespace corank::bench {
namespace {

constexpr int kArrays = 8;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "overload_bench: %s\n", status.ToString().c_str());
  return 1;
}

int Run(int argc, char** argv) {
  const auto corankd =
      CorankdProcess::Start({absl::GetFlag(FLAGS_corankd), absl::GetFlag(FLAGS_engine), {"--kept-bytes=1073741824"}});
  if (!corankd.ok()) return Fail(corankd.status());
  const bool quick = absl::GetFlag(FLAGS_quick);
  OverloadOptions options;
  options.address = (*corankd)->address();
  options.arrays = kArrays;
  options.keys = absl::GetFlag(FLAGS_keys);
  if (options.keys == 0) options.keys = (*corankd)->on_gpu() ? 1 << 21 : 1 << 17;
  options.phase = absl::GetFlag(FLAGS_phase);
  options.deadline = absl::GetFlag(FLAGS_deadline);
  if (quick) {
    options.keys = std::min<int64_t>(options.keys, 1 << 14);
    options.phase = absl::Milliseconds(200);
  }
  absl::StatusOr<std::vector<Row>> rows = MeasureOverload(options);
  if (!rows.ok()) return Fail(rows.status());
  for (Row& row : *rows) {
    if (quick) row.DropGoal();
    std::printf("%s\n", FormatRow(row).c_str());
    for (const auto& [detail, value] : row.details) std::printf("    %-27s %.4g\n", detail.c_str(), value);
  }
  const RunInfo info = DescribeRun((*corankd)->machine(), absl::GetFlag(FLAGS_commit), argc, argv);
  if (const std::string out = absl::GetFlag(FLAGS_out); !out.empty()) {
    if (absl::Status written = WriteFileAtomically(out, ToJson(info, *rows)); !written.ok()) return Fail(written);
  }
  const bool failed = std::any_of(rows->begin(), rows->end(), [](const Row& row) { return !row.error.empty(); });
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("loads corankd beyond its capacity", argc, argv);
  return corank::bench::Run(argc, argv);
}
