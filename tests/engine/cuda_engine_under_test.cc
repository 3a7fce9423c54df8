#include "kernels/cuda/cuda_engine.h"
#include "tests/engine/harness.h"

namespace corank::testing {

absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest() { return CreateCudaEngine({}); }

}  // namespace corank::testing
