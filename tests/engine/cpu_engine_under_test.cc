#include "kernels/cpu/cpu_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

// More threads than a small machine has cores, so that every parallel path runs everywhere.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCpuEngine({/*threads=*/5}); }

}  // namespace corank::testing
