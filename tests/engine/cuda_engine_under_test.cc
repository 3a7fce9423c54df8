#include <algorithm>
#include <numeric>

#include "kernels/cuda/cuda_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCudaEngine({}); }

absl::StatusOr<std::vector<std::unique_ptr<Engine>>> CreateEnginesUnderTest(int count) {
  const absl::StatusOr<int> present = CountCudaDevices();
  if (!present.ok()) return present.status();
  CudaEngineOptions options;
  options.peers.resize(static_cast<size_t>(std::min(count, *present)));
  std::iota(options.peers.begin(), options.peers.end(), 0);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const int device : options.peers) {
    options.device = device;
    auto engine = CreateCudaEngine(options);
    if (!engine.ok()) return engine.status();
    engines.push_back(*std::move(engine));
  }
  return engines;
}

}  // namespace corank::testing
