// The CPU engine: runs every operator on all cores of the host. Needs no GPU and no driver.
#ifndef CORANK_KERNELS_CPU_CPU_ENGINE_H_
#define CORANK_KERNELS_CPU_CPU_ENGINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

struct CpuEngineOptions {
  /// Threads of one operator, the calling one included; 0 means all cores that this process may use.
  int threads = 0;
};

absl::StatusOr<std::unique_ptr<Engine>> CreateCpuEngine(const CpuEngineOptions& options);

}  // namespace corank

#endif  // CORANK_KERNELS_CPU_CPU_ENGINE_H_
