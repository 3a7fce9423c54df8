// Scripts that let shells complete the command line, made from the tables of commands and options.
#ifndef CORANK_CLIENT_CLI_COMPLETION_H_
#define CORANK_CLIENT_CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace corank::cli {

/// Each completes commands, options, the values of options that have few, and files.
std::string BashCompletion(const std::vector<Command>& commands);
std::string ZshCompletion(const std::vector<Command>& commands);
std::string FishCompletion(const std::vector<Command>& commands);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_COMPLETION_H_
