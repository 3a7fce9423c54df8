// overload_bench: corankd under more load than it can serve.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/overload/inline_sorts.h"
#include "bench/overload/kept_sorts.h"
#include "bench/overload/overload_rows.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "bench/service/corankd_process.h"

ABSL_FLAG(std::string, corankd, "", "the server to load; by default the one beside this program");
ABSL_FLAG(std::string, engine, "auto", "corankd's engine");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(int64_t, keys, 0, "u64 keys of each kept array; 0: 2^21 on a GPU, 2^17 on a CPU");
ABSL_FLAG(bool, inline, true, "also sorts whose keys travel in the message: 1024 u32, 1 MiB and 4 MiB of them");
ABSL_FLAG(absl::Duration, phase, absl::Seconds(5), "length of each load");
ABSL_FLAG(absl::Duration, deadline, absl::ZeroDuration(), "of each call; 0: the time of 50 calls at capacity");
ABSL_FLAG(int, server_cores, 0, "cores of the server's own, the first ones; the client has the others. 0: all share");
ABSL_FLAG(bool, quick, false, "short loads and small arrays: shows that it works, not what is left under load");

namespace corank::bench {
namespace {

constexpr int kArrays = 8;  // arrays to sort, of each kind
constexpr int64_t kMostQuickKeys = 1 << 14;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "overload_bench: %s\n", status.ToString().c_str());
  return 1;
}

absl::StatusOr<OverloadWork> KeptWork(const CorankdProcess& corankd) {
  int64_t keys = absl::GetFlag(FLAGS_keys);
  if (keys == 0) keys = corankd.on_gpu() ? 1 << 21 : 1 << 17;
  if (absl::GetFlag(FLAGS_quick)) keys = std::min(keys, kMostQuickKeys);
  absl::StatusOr<std::vector<Request>> requests = KeepAndAsk(Connect(corankd.address(), 1)[0], kArrays, keys);
  if (!requests.ok()) return requests.status();
  return OverloadWork{"Open loop",          "u64", keys,
                      *std::move(requests), 32,    {{0.5, 0.95}, {0.8, 0.95}, {1}, {1.5, 0.9}, {2}, {3, 0.9}}};
}

OverloadWork InlineWorkOf(int64_t keys, int in_flight, std::vector<OverloadLoad> loads) {
  if (absl::GetFlag(FLAGS_quick)) keys = std::min(keys, kMostQuickKeys);
  return {"Open loop, inline", "u32", keys, InlineSorts(kArrays, keys), in_flight, std::move(loads)};
}

int Run(int argc, char** argv) {
  LeaveCoresToServers(absl::GetFlag(FLAGS_server_cores));
  const auto corankd =
      CorankdProcess::Start({absl::GetFlag(FLAGS_corankd), absl::GetFlag(FLAGS_engine), {"--kept-bytes=1073741824"}});
  if (!corankd.ok()) return Fail(corankd.status());
  const bool quick = absl::GetFlag(FLAGS_quick);
  OverloadOptions options;
  options.address = (*corankd)->address();
  options.metrics_address = (*corankd)->metrics_address();
  options.corankd_pid = (*corankd)->pid();
  options.client_threads = ClientThreads();
  options.phase = quick ? absl::Milliseconds(200) : absl::GetFlag(FLAGS_phase);
  options.deadline = absl::GetFlag(FLAGS_deadline);
  const RunInfo info = DescribeRun((*corankd)->machine(), absl::GetFlag(FLAGS_commit), argc, argv);

  absl::StatusOr<OverloadWork> kept = KeptWork(**corankd);
  if (!kept.ok()) return Fail(kept.status());
  std::vector<OverloadWork> works = {*std::move(kept)};
  if (absl::GetFlag(FLAGS_inline)) {
    // Refusing a small call costs the server a good part of answering it.
    works.push_back(InlineWorkOf(1024, 512, {{0.5, 0.95}, {0.8, 0.95}, {0.9, 0.95}, {1}, {1.5, 0.9}, {2}, {3, 0.5}}));
    for (const int64_t keys : {1 << 18, 1 << 20}) {
      works.push_back(InlineWorkOf(keys, 16, {{0.5, 0.95}, {0.8, 0.95}, {1}, {2, 0.9}, {3, 0.9}}));
    }
  }
  std::vector<Row> rows;
  for (const OverloadWork& work : works) {
    absl::StatusOr<std::vector<Row>> measured = MeasureOverload(work, options);
    if (!measured.ok()) return Fail(measured.status());
    for (Row& row : *measured) {
      if (quick) row.DropGoal();
      std::printf("%s\n", FormatRow(row).c_str());
      for (const auto& [detail, value] : row.details) std::printf("    %-27s %.4g\n", detail.c_str(), value);
      std::fflush(stdout);
      rows.push_back(std::move(row));
    }
    if (const std::string out = absl::GetFlag(FLAGS_out); !out.empty()) {
      if (absl::Status written = WriteFileAtomically(out, ToJson(info, rows)); !written.ok()) return Fail(written);
    }
  }
  const bool failed = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.error.empty(); });
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("loads corankd beyond its capacity", argc, argv);
  return corank::bench::Run(argc, argv);
}
