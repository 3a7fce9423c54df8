// shards_bench: one array or table on 2, 4 and more GPUs of a host beside the same on one of them.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/harness/contest.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/shards/cases.h"
#include "kernels/cpu/cpu_engine.h"
#ifdef CORANK_HAS_CUDA
#include "kernels/cuda/cuda_engine.h"
#endif

ABSL_FLAG(std::string, filter, ".*", "regular expression, searched in the names of the cases");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(bool, quick, false, "small arrays on two CPU engines: shows that it works, not how fast it is");
ABSL_FLAG(int, devices, 0, "number of GPUs; 0 means all");
ABSL_FLAG(std::string, peer_access, "auto", "auto, or off: the GPUs exchange rows through the host, in sorts alone");
ABSL_FLAG(int, log2_bytes, 33, "the keys in device memory have 2^this bytes");
ABSL_FLAG(int, log2_host_bytes, 30, "the arrays of a sort in host memory have 2^this bytes");
ABSL_FLAG(int, least_log2_host_bytes, -1,
          "times sorts from host memory for each power of two from 2^this bytes on; -1: for the largest only");

namespace corank::bench {
namespace {

using Engines = std::vector<std::unique_ptr<Engine>>;

absl::StatusOr<Engines> MakeEngines(bool quick, int most, bool peer_access) {
  Engines engines;
  if (quick) {
    for (int i = 0; i < 2; ++i) {
      auto engine = CreateCpuEngine({/*threads=*/1});
      if (!engine.ok()) return engine.status();
      engines.push_back(*std::move(engine));
    }
    return engines;
  }
#ifdef CORANK_HAS_CUDA
  const auto count = CountCudaDevices();
  if (!count.ok()) return count.status();
  std::vector<int> devices(static_cast<size_t>(most > 0 ? std::min(most, *count) : *count));
  std::iota(devices.begin(), devices.end(), 0);
  CudaEngineOptions options;
  options.peers = devices;
  options.peer_access = peer_access;
  if (devices.size() < 2) return absl::FailedPreconditionError("this benchmark needs two GPUs or more");
  for (const int device : devices) {
    options.device = device;
    auto engine = CreateCudaEngine(options);
    if (!engine.ok()) return engine.status();
    engines.push_back(*std::move(engine));
  }
  return engines;
#else
  static_cast<void>(most);
  static_cast<void>(peer_access);
  return absl::FailedPreconditionError("this program was built without the CUDA engine; there is only --quick");
#endif
}

int Main(int argc, char** argv) {
  ParseFlags("measures one array on several GPUs", argc, argv);
  const bool quick = absl::GetFlag(FLAGS_quick);
  const bool peer_access = absl::GetFlag(FLAGS_peer_access) != "off";
  const auto engines = MakeEngines(quick, absl::GetFlag(FLAGS_devices), peer_access);
  if (!engines.ok()) {
    std::fprintf(stderr, "shards_bench: %s\n", std::string(engines.status().message()).c_str());
    return 1;
  }
  std::vector<Engine*> pointers;
  for (const auto& engine : *engines) pointers.push_back(engine.get());

  ShardsBenchOptions options;
  options.log2_bytes = absl::GetFlag(FLAGS_log2_bytes);
  options.log2_host_bytes = absl::GetFlag(FLAGS_log2_host_bytes);
  const int least = absl::GetFlag(FLAGS_least_log2_host_bytes);
  options.least_log2_host_bytes = least < 0 ? options.log2_host_bytes : least;
  if (quick) options = {16, 16, 15, 3};
  options.are_linked = peer_access;
  std::vector<Case> cases;
  AddShardCases(options, pointers, &cases);

  SuiteOptions suite;
  suite.filter = absl::GetFlag(FLAGS_filter);
  suite.out = absl::GetFlag(FLAGS_out);
  suite.with_goals = !quick;
  suite.info = DescribeRun(absl::StrCat(engines->size(), " x ", pointers.front()->info().device, "; ", DescribeHost()),
                           absl::GetFlag(FLAGS_commit), argc, argv);
  return RunSuite(suite, std::move(cases));
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) { return corank::bench::Main(argc, argv); }
