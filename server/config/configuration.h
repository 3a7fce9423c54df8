// The configuration of corankd: flags override the environment, which overrides the file, which overrides defaults.
#ifndef CORANK_SERVER_CONFIG_CONFIGURATION_H_
#define CORANK_SERVER_CONFIG_CONFIGURATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/observe/log.h"
#include "server/run/engine_choice.h"
#include "server/server.h"

namespace corank {

struct Configuration {
  enum class Action { kServe, kCheck, kHelp, kVersion };

  Action action = Action::kServe;
  std::string help_group;  // with kHelp; empty: all
  Server::Options server;  // its `settings` record the source of each value
  EngineOptions engine;
  absl::Duration drain_timeout = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kJson;
  std::string ports_file;             // empty: none
  std::vector<std::string> warnings;  // likely mistakes: variables that set nothing, tokens without TLS
};

/// Reads the file, the environment and the arguments (without the program's name), and checks every value. With --help
/// or --version, reads nothing else. INVALID_ARGUMENT has a line for each invalid setting, with its source and the
/// reason. Sets the process's flags, so only one call may run at a time. `environment` is as the third argument of
/// main: NAME=VALUE, and a null at the end.
absl::StatusOr<Configuration> ReadConfiguration(const std::vector<std::string>& arguments,
                                                const char* const* environment);

/// The effective configuration in the format of --config, with the source of each value. Leaves out hidden values.
std::string SettingsText(const Configuration& configuration);

/// The text of --help, at most 100 columns wide: all groups, or one. INVALID_ARGUMENT for an unknown group.
absl::StatusOr<std::string> HelpText(const std::string& group);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_CONFIGURATION_H_
