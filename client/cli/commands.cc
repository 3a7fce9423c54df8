#include "client/cli/commands.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/choices.h"
#include "client/cli/completion.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/help.h"
#include "client/cli/session.h"
#include "client/cpp/short_memory.h"
#include "spelling/nearest.h"
#include "version/version.h"

namespace corank::cli {
namespace {

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : Commands()) {
    if (name == command.spec.name) return &command;
  }
  return nullptr;
}

absl::Status UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& known : Commands()) names.push_back(known.spec.name);
  std::string hint = DidYouMean(name, names);
  struct stat info = {};
  if (hint.empty() && stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    hint = absl::StrCat("; that is a file: did you mean corank sort ", name, "?");
  }
  return UsageError(
      absl::StrCat("unknown command '", name, "'", hint.empty() ? "; corank help lists the commands" : hint));
}

absl::Status RunVersion(const Arguments&) {
  std::puts(VersionLine("corank").c_str());
  return absl::OkStatus();
}

absl::Status RunHelp(const Arguments& arguments) {
  if (arguments.Has("man")) {
    std::fputs(ManPage(Commands(), Version()).c_str(), stdout);
    return absl::OkStatus();
  }
  if (arguments.positional().empty()) {
    std::fputs(GeneralHelp(Commands()).c_str(), stdout);
    return absl::OkStatus();
  }
  const Command* const command = FindCommand(arguments.positional()[0]);
  if (command == nullptr) return UnknownCommand(arguments.positional()[0]);
  std::fputs(CommandHelp(command->spec).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status RunCompletion(const Arguments& arguments) {
  const std::string& shell = arguments.positional()[0];
  if (shell != "bash" && shell != "zsh" && shell != "fish") {
    return UsageError(absl::StrCat("there is no completion for '", shell, "'; the shells are bash, zsh and fish"));
  }
  const std::string script = shell == "bash"  ? BashCompletion(Commands())
                             : shell == "zsh" ? ZshCompletion(Commands())
                                              : FishCompletion(Commands());
  std::fputs(script.c_str(), stdout);
  return absl::OkStatus();
}

/// The options of commands that need no server.
std::vector<OptionSpec> WithHelpOption(std::vector<OptionSpec> options) {
  options.push_back({"help", 'h', nullptr, "print this help", false, nullptr, true});
  return options;
}

Command VersionCommand() {
  return {{"version", "print version, commit and build type", "", 0, 0, "", "corank version", WithHelpOption({})},
          RunVersion};
}

Command HelpCommand() {
  return {{"help", "print this text, or the help of a command", "[COMMAND]", 0, 1, "",
           "corank help sort\n"
           "corank help --man | man -l -",
           WithHelpOption({{"man", 0, nullptr, "print the manual page corank(1)"}})},
          RunHelp};
}

Command CompletionCommand() {
  return {{"completion", "print a completion script: bash, zsh or fish", "SHELL", 1, 1, "",
           "source <(corank completion bash)\n"
           "corank completion zsh >~/.zfunc/_corank\n"
           "corank completion fish >~/.config/fish/completions/corank.fish",
           WithHelpOption({})},
          RunCompletion};
}

/// One line on standard error, or one JSON object, and what to do if the message does not say it.
int Fail(absl::string_view command, const absl::Status& status, bool as_json) {
  const ExitCode code = ExitCodeOf(status);
  if (IsClosedPipe(status)) EndByClosedPipe();
  std::string message = InFlags(status.message());
  if (code == kExitUnreachable && absl::StrContains(message, "no corank server answers")) {
    absl::StrAppend(&message, "; start corankd, or name its address with --server or CORANK_SERVER");
  }
  if (absl::IsDeadlineExceeded(status)) absl::StrAppend(&message, "; give it more time with --deadline");
  message = absl::StrReplaceAll(message, {{"\n", " "}});
  absl::FPrintF(stderr, "%s\n",
                as_json ? ErrorJson(status, message)
                        : absl::StrCat("corank", command.empty() ? "" : " ", command, ": ", message));
  return code;
}

/// Success, if everything that was printed went out.
int Done(absl::string_view command, bool as_json) {
  // stdio still holds the end of the text, and a write of the text before may have failed.
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::ferror(stdout) == 0) return kExitOk;
  const int error = IsStandardOutputClosed() ? EPIPE : errno;
  return Fail(command, FileError("cannot write standard output", error), as_json);
}

/// Whether errors go out as JSON, whatever else is wrong with the command line.
bool WantsJson(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end;
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      SortCommand(),        ArgsortCommand(),     ArgsortColumnsCommand(), MergeCommand(),  SearchCommand(),
      GroupCommand(),       CombineSetsCommand(), JoinCommand(),           SelectCommand(), RankCommand(),
      InsertCommand(),      ExpandCommand(),      MoveCommand(),           GatherCommand(), ScatterCommand(),
      LoadBalanceCommand(), InfoCommand(),        HealthCommand(),         BenchCommand(),  ArraysCommand(),
      RegionsCommand(),     HelpCommand(),        CompletionCommand(),     VersionCommand()};
  return *commands;
}

const std::vector<OptionSpec>& GlobalOptions() {
  static const auto* const options = new std::vector<OptionSpec>(WithCommonOptions({}));
  return *options;
}

int RunCommandLine(const std::vector<std::string>& words) {
  const bool as_json = WantsJson(words);
  const absl::StatusOr<CommandLine> line = Arguments::Split({"", "", "COMMAND", 0, -1, "", "", GlobalOptions()}, words);
  if (!line.ok()) return Fail("", line.status(), as_json);
  std::string name = line->command.value_or("");
  std::vector<std::string> rest = line->command_words;
  if (line->globals.Has("version")) {
    name = "version";
    rest.clear();
  } else if (line->globals.Has("help")) {
    rest = name.empty() ? std::vector<std::string>() : std::vector<std::string>{name};
    name = "help";
  } else if (name.empty()) {
    std::fputs(GeneralHelp(Commands()).c_str(), stderr);
    return kExitUsage;
  }
  const Command* const command = FindCommand(name);
  if (command == nullptr) return Fail("", UnknownCommand(name), as_json);
  // Options before the command are options of the command, unless it needs no server.
  const std::vector<OptionSpec>& options = command->spec.options;
  if (std::any_of(options.begin(), options.end(),
                  [](const OptionSpec& o) { return o.name == std::string("server"); })) {
    rest.insert(rest.begin(), line->global_words.begin(), line->global_words.end());
  }
  absl::StatusOr<Arguments> arguments = Arguments::Parse(command->spec, rest);
  if (!arguments.ok()) return Fail(name, arguments.status(), as_json);
  absl::Status status;
  if (arguments->Has("help")) {
    std::fputs(CommandHelp(command->spec).c_str(), stdout);
  } else if (arguments->Has("version")) {
    status = RunVersion(*arguments);
  } else {
    status.Update(client::WithinMemory("this command", [&] { status = command->run(*arguments); }));
  }
  return status.ok() ? Done(name, as_json) : Fail(name, status, as_json);
}

}  // namespace corank::cli
