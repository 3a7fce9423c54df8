#include "kernels/cpu/cpu_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

// More threads than cores of a small machine, so that every parallel path is taken everywhere.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCpuEngine({/*threads=*/5}); }

}  // namespace corank::testing
