#include "kernels/cpu/cpu_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

// More threads than a small machine has cores, so that every parallel path runs everywhere.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCpuEngine({/*threads=*/5}); }

absl::StatusOr<std::vector<std::unique_ptr<Engine>>> CreateEnginesUnderTest(int count) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < count; ++i) {
    auto engine = CreateCpuEngine({/*threads=*/2});
    if (!engine.ok()) return engine.status();
    engines.push_back(*std::move(engine));
  }
  return engines;
}

}  // namespace corank::testing
