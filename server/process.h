// corankd as a process: reads the configuration, starts the server, and ends it on a signal or when the device is lost.
#ifndef CORANK_SERVER_PROCESS_H_
#define CORANK_SERVER_PROCESS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/engine/engine.h"

namespace corank {

/// What a test puts around the engine that the configuration chose.
using EngineWrapper = std::function<std::unique_ptr<Engine>(std::unique_ptr<Engine>)>;

/// All of main; `arguments` without the program's name. Returns the exit code where the server did not start or had
/// nothing to serve; ends the process otherwise (server/README.md has the codes). Blocks SIGTERM and SIGINT in the
/// calling thread, which must be the only one.
int RunCorankd(const std::vector<std::string>& arguments, const EngineWrapper& wrap = nullptr);

}  // namespace corank

#endif  // CORANK_SERVER_PROCESS_H_
