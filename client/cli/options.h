// The command line: a table of options for each command, and the parser that reads arguments by it.
#ifndef CORANK_CLIENT_CLI_OPTIONS_H_
#define CORANK_CLIENT_CLI_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace corank::cli {

/// One option. An option without a value name is a switch.
struct OptionSpec {
  const char* name;        // "output", given as --output
  char short_name;         // 'o', or 0
  const char* value_name;  // "FILE", or null
  const char* help;
  bool repeated = false;
  const char* choices = nullptr;  // the values that shells complete, separated by spaces
  bool common = false;            // help lists it after the command's own options
};

/// The arguments and options of a command.
struct CommandSpec {
  const char* name;
  const char* summary;    // one line
  const char* arguments;  // "INPUT", as in the usage line
  int min_arguments;
  int max_arguments;     // -1: no limit
  const char* details;   // paragraphs below the usage line; may be empty
  const char* examples;  // one per line
  std::vector<OptionSpec> options;
};

struct CommandLine;

/// A command line that fits its CommandSpec.
class Arguments {
 public:
  /// Reads the words after the command's name: `--name value`, `--name=value`, `-o value`, `-ovalue`, and switches in
  /// one word as in `-fqo value`. `--` ends the options; `-` is an argument (standard input). An unknown option is a
  /// UsageError that names the nearest known one.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec, absl::Span<const std::string> words);
  /// Splits `corank [global options] COMMAND ...`. `globals` lists the options that may stand before the command.
  static absl::StatusOr<CommandLine> Split(const CommandSpec& globals, absl::Span<const std::string> words);

  const std::vector<std::string>& positional() const { return positional_; }
  bool Has(absl::string_view option) const;
  /// The last value given.
  std::optional<std::string> Get(absl::string_view option) const;
  std::string GetOr(absl::string_view option, absl::string_view otherwise) const;
  /// All values given, in order.
  std::vector<std::string> GetAll(absl::string_view option) const;
  /// UsageError unless the value is a whole number of `least` or more.
  absl::StatusOr<std::optional<int64_t>> GetCount(absl::string_view option, int64_t least = 0) const;
  /// UsageError unless the value is a positive time such as "30s", "1m30s", "500ms".
  absl::StatusOr<std::optional<absl::Duration>> GetDuration(absl::string_view option) const;

 private:
  /// Reads the option word words[*i] and its value, and moves *i to the last word read.
  absl::Status TakeOption(const CommandSpec& spec, absl::Span<const std::string> words, size_t* i);
  absl::Status Add(const OptionSpec& option, std::string value);

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positional_;
};

/// A command line in three parts.
struct CommandLine {
  Arguments globals;                       // the options before the command
  std::vector<std::string> global_words;   // the same, as typed
  std::optional<std::string> command;      // none if there are options only
  std::vector<std::string> command_words;  // the words after the command
};

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_OPTIONS_H_
