// The configuration of corankd: flags before the environment, the environment before a file, a file before defaults.
#ifndef CORANK_SERVER_CONFIG_CONFIGURATION_H_
#define CORANK_SERVER_CONFIG_CONFIGURATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/execute/engine_choice.h"
#include "server/observe/log.h"
#include "server/server.h"

namespace corank {

struct Configuration {
  enum class Action { kServe, kCheck, kHelp, kVersion };

  Action action = Action::kServe;
  std::string help_group;  // with kHelp; empty: all
  Server::Options server;  // its `settings` say where each value came from
  EngineOptions engine;
  absl::Duration drain_timeout = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kJson;
  std::string ports_file;             // empty: none
  std::vector<std::string> warnings;  // what works and is hardly meant: variables that set nothing, tokens without TLS
};

/// Reads the file, the environment and the arguments (without the program's name), and checks every value. With
/// --help or --version nothing else is read. INVALID_ARGUMENT names each setting that will not do, where it was set and
/// the reason, one a line. Sets the process's flags: one call at a time.
/// `environment` is as the third argument of main: NAME=VALUE, and a null at the end.
absl::StatusOr<Configuration> ReadConfiguration(const std::vector<std::string>& arguments,
                                                const char* const* environment);

/// The effective configuration as a file that --config takes, with where each value came from. Hidden ones are left
/// out.
std::string SettingsText(const Configuration& configuration);

/// What --help prints, at most 100 columns wide: all groups, or one. INVALID_ARGUMENT where there is no such group.
absl::StatusOr<std::string> HelpText(const std::string& group);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_CONFIGURATION_H_
