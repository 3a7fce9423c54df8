#include "server/execute/engine_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_engine.h"
#include "server/execute/status_macros.h"
#ifdef CORANK_HAS_CUDA
#include "kernels/cuda/cuda_engine.h"
#endif

namespace corank {
namespace {

absl::StatusOr<std::unique_ptr<Engine>> TryCuda(const EngineOptions& options) {
#ifdef CORANK_HAS_CUDA
  CudaEngineOptions cuda;
  cuda.device = options.device;
  return CreateCudaEngine(cuda);
#else
  static_cast<void>(options);
  return absl::FailedPreconditionError("this binary was built without the CUDA engine");
#endif
}

absl::StatusOr<ChosenEngine> TakeCpu(const EngineOptions& options, std::string reason) {
  CpuEngineOptions cpu;
  cpu.threads = options.cpu_threads;
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, CreateCpuEngine(cpu));
  return ChosenEngine{std::move(engine), std::move(reason)};
}

}  // namespace

absl::StatusOr<ChosenEngine> ChooseEngine(const EngineOptions& options) {
  if (options.choice == EngineChoice::kCpu) return TakeCpu(options, "--engine=cpu asks for the CPU engine");
  absl::StatusOr<std::unique_ptr<Engine>> cuda = TryCuda(options);
  if (options.choice == EngineChoice::kCuda) {
    if (!cuda.ok()) {
      return absl::Status(cuda.status().code(),
                          absl::StrCat("--engine=cuda does not work here: ", cuda.status().message()));
    }
    return ChosenEngine{*std::move(cuda), "--engine=cuda asks for the CUDA engine"};
  }
  if (cuda.ok()) return ChosenEngine{*std::move(cuda), "--engine=auto found a GPU that works"};
  return TakeCpu(options, absl::StrCat("--engine=auto found no GPU that works: ", cuda.status().message()));
}

}  // namespace corank
