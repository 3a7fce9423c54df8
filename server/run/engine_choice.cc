#include "server/run/engine_choice.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_engine.h"
#include "server/base/status_macros.h"
#ifdef CORANK_HAS_CUDA
#include "kernels/cuda/cuda_engine.h"
#endif

namespace corank {
namespace {

using Engines = std::vector<ChosenEngine>;

#ifdef CORANK_HAS_CUDA
absl::StatusOr<Engines> TryCuda(const EngineOptions& options) {
  CORANK_ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  std::vector<int> ordinals = options.devices;
  if (ordinals.empty()) {
    ordinals.resize(static_cast<size_t>(count));
    std::iota(ordinals.begin(), ordinals.end(), 0);
  }
  Engines engines;
  std::string left_out;
  absl::Status first_failure;
  for (const int ordinal : ordinals) {
    CudaEngineOptions cuda;
    cuda.device = ordinal;
    cuda.peers = ordinals;
    cuda.peer_access = options.peer_access;
    absl::StatusOr<std::unique_ptr<Engine>> engine = CreateCudaEngine(cuda);
    if (engine.ok()) {
      engines.push_back({*std::move(engine), "", ordinal});
      continue;
    }
    if (!options.devices.empty()) return engine.status();
    first_failure.Update(engine.status());
    absl::StrAppend(&left_out, "; GPU ", ordinal, " does not: ", engine.status().message());
  }
  if (engines.empty()) return first_failure;
  for (ChosenEngine& engine : engines) engine.reason = left_out;
  return engines;
}
#else
absl::StatusOr<Engines> TryCuda(const EngineOptions&) {
  return absl::FailedPreconditionError("this binary was built without the CUDA engine");
}
#endif

absl::StatusOr<Engines> TakeCpu(const EngineOptions& options, std::string reason) {
  CpuEngineOptions cpu;
  cpu.threads = options.cpu_threads;
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, CreateCpuEngine(cpu));
  Engines engines;
  engines.push_back({std::move(engine), std::move(reason)});
  return engines;
}

// The same prefix for each engine, then its own message.
absl::StatusOr<Engines> WithReason(absl::string_view reason, Engines engines) {
  for (ChosenEngine& engine : engines) engine.reason = absl::StrCat(reason, engine.reason);
  return engines;
}

}  // namespace

absl::StatusOr<std::vector<ChosenEngine>> ChooseEngines(const EngineOptions& options) {
  if (options.choice == EngineChoice::kCpu) return TakeCpu(options, "--engine=cpu asks for the CPU engine");
  absl::StatusOr<Engines> cuda = TryCuda(options);
  if (options.choice == EngineChoice::kCuda) {
    if (!cuda.ok()) {
      return absl::Status(cuda.status().code(),
                          absl::StrCat("--engine=cuda does not work here: ", cuda.status().message()));
    }
    return WithReason("--engine=cuda asks for the CUDA engine", *std::move(cuda));
  }
  if (cuda.ok()) return WithReason("--engine=auto found a GPU that works", *std::move(cuda));
  return TakeCpu(options, absl::StrCat("--engine=auto found no GPU that works: ", cuda.status().message()));
}

}  // namespace corank
