// Which engine the server takes at start.
#ifndef CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_
#define CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

enum class EngineChoice : uint8_t { kAuto, kCuda, kCpu };

struct EngineOptions {
  EngineChoice choice = EngineChoice::kAuto;
  /// Ordinals of the GPUs, each once, in ascending order; empty: all that work.
  std::vector<int> devices;
  /// Threads of one operator on the CPU engine; 0 means all cores.
  int cpu_threads = 0;
};

struct ChosenEngine {
  std::unique_ptr<Engine> engine;
  std::string reason;  // in words, for logs and GetServerInfo
  int ordinal = 0;     // by which callers know the device
};

/// One engine for each device, 1 or more. kAuto takes the CUDA engine where it works and the CPU engine elsewhere.
/// kCuda fails where it does not work. A GPU that `devices` names must work; of all GPUs, those that do are taken.
absl::StatusOr<std::vector<ChosenEngine>> ChooseEngines(const EngineOptions& options);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_
