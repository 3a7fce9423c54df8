// The configuration of corankd: flags, and CORANK_<FLAG> in the environment as each flag's default.
#ifndef CORANK_SERVER_FLAGS_H_
#define CORANK_SERVER_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/execute/engine_choice.h"
#include "server/observe/log.h"
#include "server/server.h"

namespace corank {

struct Configuration {
  Server::Options server;
  EngineOptions engine;
  absl::Duration drain_timeout = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;
  std::string ports_file;  // empty: none
  bool help = false;       // --help or --version was given: nothing else was read
  bool version = false;
};

/// Reads the environment, then the arguments (without the program's name), and checks every value.
/// INVALID_ARGUMENT names the flag and the reason.
absl::StatusOr<Configuration> ReadConfiguration(const std::vector<std::string>& arguments);

/// What --help prints.
std::string HelpText();

}  // namespace corank

#endif  // CORANK_SERVER_FLAGS_H_
