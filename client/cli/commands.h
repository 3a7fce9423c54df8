// The commands of `corank`. Each is a table entry: the arguments it takes and the function that runs it.
#ifndef CORANK_CLIENT_CLI_COMMANDS_H_
#define CORANK_CLIENT_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/options.h"

namespace corank::cli {

struct Command {
  CommandSpec spec;
  absl::Status (*run)(const Arguments& arguments);
};

Command SortCommand();
Command ArgsortCommand();
Command ArgsortColumnsCommand();
Command MergeCommand();
Command ExpandCommand();
Command MoveCommand();
Command GatherCommand();
Command ScatterCommand();
Command LoadBalanceCommand();
Command SearchCommand();
Command GroupCommand();
Command CombineSetsCommand();
Command JoinCommand();
Command SelectCommand();
Command RankCommand();
Command InsertCommand();
Command InfoCommand();
Command HealthCommand();
Command BenchCommand();
Command ArraysCommand();
Command RegionsCommand();

/// All commands, in the order of the help.
const std::vector<Command>& Commands();
/// The options that may stand before the command too.
const std::vector<OptionSpec>& GlobalOptions();

/// Runs `corank WORDS...` and returns the exit code. Messages go to standard error, each one line.
int RunCommandLine(const std::vector<std::string>& words);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_COMMANDS_H_
