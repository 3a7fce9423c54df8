#include "client/cli/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/failure.h"
#include "client/cpp/short_memory.h"
#include "version/version.h"

namespace corank::cli {
namespace {

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      SortCommand(), ArgsortCommand(), ArgsortColumnsCommand(), MergeCommand(),       ExpandCommand(),
      MoveCommand(), GatherCommand(),  ScatterCommand(),        LoadBalanceCommand(), SearchCommand(),
      InfoCommand(), HealthCommand(),  BenchCommand(),          ArraysCommand(),      RegionsCommand()};
  return *commands;
}

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : Commands()) {
    if (name == command.spec.name) return &command;
  }
  return nullptr;
}

std::string GeneralHelp() {
  std::string help =
      "corank sorts, merges and moves arrays in files on a corank server.\n\n"
      "Usage: corank COMMAND [arguments] [options]\n\nCommands:\n";
  for (const Command& command : Commands()) {
    absl::StrAppendFormat(&help, "  %-15s %s\n", command.spec.name, command.spec.summary);
  }
  absl::StrAppendFormat(&help, "  %-15s %s\n", "version", "the version of this program");
  absl::StrAppendFormat(&help, "  %-15s %s\n", "help", "this text, or that of a command");
  absl::StrAppend(&help,
                  "\nFiles are .npy, or raw little-endian elements with --type. The server is --server, else\n"
                  "$CORANK_SERVER, else 127.0.0.1:50051.\n\n"
                  "TLS: --tls-ca FILE or $CORANK_SERVER_CA, or --tls; a certificate of your own with\n"
                  "--tls-certificate and --tls-key, or $CORANK_CLIENT_CERTIFICATE and $CORANK_CLIENT_KEY. A token:\n"
                  "--token-file FILE or $CORANK_TOKEN; without TLS it goes to this host only. $TRACEPARENT is passed\n"
                  "on. corankd reads none of these variables.\n\n"
                  "Exit codes: 0 done, 1 the request failed, 2 wrong usage, 3 a file, 4 no server.\n\n"
                  "corank COMMAND --help shows options and examples.\n");
  return help;
}

/// One line on standard error, and what to do where the message does not say it.
int Fail(absl::string_view command, const absl::Status& status) {
  const ExitCode code = ExitCodeOf(status);
  std::string line = absl::StrCat("corank", command.empty() ? "" : " ", command, ": ", InFlags(status.message()));
  if (code == kExitUnreachable && absl::StrContains(line, "no corank server answers")) {
    absl::StrAppend(&line, "; start corankd, or name its address with --server or CORANK_SERVER");
  }
  if (absl::IsDeadlineExceeded(status)) absl::StrAppend(&line, "; give it more time with --deadline");
  line = absl::StrReplaceAll(line, {{"\n", " "}});
  absl::FPrintF(stderr, "%s\n", line);
  return code;
}

/// Success, if all that was printed went out.
int Done(absl::string_view command) {
  // What is still in stdio's buffer may not fit on a full disk; what was too long for it may not have fitted before.
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::ferror(stdout) == 0) return kExitOk;
  return Fail(command, FileError("cannot write standard output", errno));
}

int Help(const std::string& name) {
  const Command* command = FindCommand(name);
  std::fputs((command == nullptr ? GeneralHelp() : CommandHelp(command->spec)).c_str(), stdout);
  return Done("help");
}

int UnknownCommand(const std::string& name) {
  std::vector<std::string> names = {"version", "help"};
  for (const Command& known : Commands()) names.push_back(known.spec.name);
  const std::string nearest = Nearest(name, names);
  return Fail("", UsageError(absl::StrCat("unknown command '", name, "'; ",
                                          nearest.empty() ? "corank help lists the commands"
                                                          : absl::StrCat("did you mean ", nearest, "?"))));
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs(GeneralHelp().c_str(), stderr);
    return kExitUsage;
  }
  const std::string& name = words[0];
  if (name == "help" || name == "--help" || name == "-h") {
    const std::string topic = words.size() > 1 ? words[1] : "";
    const bool is_general = topic.empty() || topic == "help" || topic == "version";  // these take nothing
    return is_general || FindCommand(topic) != nullptr ? Help(topic) : UnknownCommand(topic);
  }
  if (name == "version" || name == "--version" || name == "-V") {
    std::puts(VersionLine("corank").c_str());
    return Done("version");
  }
  const Command* command = FindCommand(name);
  if (command == nullptr) return UnknownCommand(name);
  absl::StatusOr<Arguments> arguments = Arguments::Parse(command->spec, absl::MakeConstSpan(words).subspan(1));
  if (!arguments.ok()) return Fail(name, arguments.status());
  if (arguments->Has("help")) return Help(name);
  absl::Status status;
  status.Update(client::WithinMemory("this command", [&] { status = command->run(*arguments); }));
  if (!status.ok()) return Fail(name, status);
  return Done(name);
}

}  // namespace corank::cli
