// The corankd process: reads the configuration, runs the server, and ends on a signal or when the last device is lost.
#ifndef CORANK_SERVER_PROCESS_H_
#define CORANK_SERVER_PROCESS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/engine/engine.h"

namespace corank {

/// A test's wrapper around the configured engine.
using EngineWrapper = std::function<std::unique_ptr<Engine>(std::unique_ptr<Engine>)>;

/// All of main; `arguments` without the program's name. Returns the exit code if no server ran, and otherwise ends the
/// process (server/README.md lists the codes). Blocks SIGTERM and SIGINT in the calling thread, which must be the only
/// one.
int RunCorankd(const std::vector<std::string>& arguments, const EngineWrapper& wrap = nullptr);

}  // namespace corank

#endif  // CORANK_SERVER_PROCESS_H_
