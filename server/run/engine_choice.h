// Chooses the server's engine at startup.
#ifndef CORANK_SERVER_RUN_ENGINE_CHOICE_H_
#define CORANK_SERVER_RUN_ENGINE_CHOICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

enum class EngineChoice : uint8_t { kAuto, kCuda, kCpu };

struct EngineOptions {
  EngineChoice choice = EngineChoice::kAuto;
  /// Ordinals of the GPUs, each once, in ascending order; empty: all working GPUs.
  std::vector<int> devices;
  /// Whether GPUs reach each other's memory where they can.
  bool peer_access = true;
  /// Threads of one operator on the CPU engine; 0 means all cores.
  int cpu_threads = 0;
};

struct ChosenEngine {
  std::unique_ptr<Engine> engine;
  std::string reason;  // in words, for logs and GetServerInfo
  int ordinal = 0;     // the device's number for callers
};

/// One engine for each device, 1 or more. kAuto takes the CUDA engine if it works and the CPU engine otherwise. kCuda
/// fails if CUDA does not work. A GPU in `devices` must work; without `devices`, all working GPUs are taken.
absl::StatusOr<std::vector<ChosenEngine>> ChooseEngines(const EngineOptions& options);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ENGINE_CHOICE_H_
