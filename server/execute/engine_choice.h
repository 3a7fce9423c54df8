// Which engine the server takes at start.
#ifndef CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_
#define CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

enum class EngineChoice : uint8_t { kAuto, kCuda, kCpu };

struct EngineOptions {
  EngineChoice choice = EngineChoice::kAuto;
  /// The GPU's ordinal.
  int device = 0;
  /// Threads of one operator on the CPU engine; 0 means all cores.
  int cpu_threads = 0;
};

struct ChosenEngine {
  std::unique_ptr<Engine> engine;
  std::string reason;  // in words, for logs and GetServerInfo
};

/// kAuto takes the CUDA engine where it works and the CPU engine elsewhere. kCuda fails where it does not work.
absl::StatusOr<ChosenEngine> ChooseEngine(const EngineOptions& options);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_ENGINE_CHOICE_H_
