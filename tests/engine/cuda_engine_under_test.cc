#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "kernels/cuda/cuda_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCudaEngine({}); }

absl::StatusOr<std::vector<std::unique_ptr<Engine>>> CreateEnginesUnderTest(int count) {
  const absl::StatusOr<int> present = CountCudaDevices();
  if (!present.ok()) return present.status();
  std::vector<int> devices(static_cast<size_t>(std::min(count, *present)));
  std::iota(devices.begin(), devices.end(), 0);
  CudaEngineOptions options;
  // With CORANK_PEER_ACCESS=off, as on a host whose GPUs do not reach each other's memory.
  const char* const access = std::getenv("CORANK_PEER_ACCESS");
  options.peers = devices;
  options.peer_access = access == nullptr || std::string(access) != "off";
  std::vector<std::unique_ptr<Engine>> engines;
  for (const int device : devices) {
    options.device = device;
    auto engine = CreateCudaEngine(options);
    if (!engine.ok()) return engine.status();
    engines.push_back(*std::move(engine));
  }
  return engines;
}

}  // namespace corank::testing
