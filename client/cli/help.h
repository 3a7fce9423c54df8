// The texts of `corank help`, made from the tables of commands and options.
#ifndef CORANK_CLIENT_CLI_HELP_H_
#define CORANK_CLIENT_CLI_HELP_H_

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/options.h"

namespace corank::cli {

/// `corank --help`: one screen.
std::string GeneralHelp(const std::vector<Command>& commands);

/// `corank COMMAND --help`.
std::string CommandHelp(const CommandSpec& spec);

/// `corank help --man`: corank(1), as troff with the man macros. `version` stands in its footer.
std::string ManPage(const std::vector<Command>& commands, const std::string& version);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_HELP_H_
