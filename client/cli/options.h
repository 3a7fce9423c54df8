// The command line: a table of options per command, the parser that reads arguments by it, and the help made from it.
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

/// One option. Without a value name it is a switch.
struct OptionSpec {
  const char* name;        // "output", given as --output
  char short_name;         // 'o', or 0
  const char* value_name;  // "FILE", or null
  const char* help;
  bool repeated = false;
};

/// What a command takes.
struct CommandSpec {
  const char* name;
  const char* summary;    // one line
  const char* arguments;  // "INPUT", as in the usage line
  int min_arguments;
  int max_arguments;     // -1: no limit
  const char* details;   // paragraphs below the usage line, may be empty
  const char* examples;  // one a line
  std::vector<OptionSpec> options;
};

/// A command line that fits its CommandSpec.
class Arguments {
 public:
  /// Reads what follows the command's name. `--name value`, `--name=value`, `-o value`, `-ovalue`; `--` ends options;
  /// `-` is an argument (standard input). An error is a UsageError that names the nearest option for a misspelt one.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec, absl::Span<const std::string> words);

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
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positional_;
};

/// The entry of `known` that `word` most likely means, or empty when none is near.
std::string Nearest(absl::string_view word, const std::vector<std::string>& known);

/// The text of `corank COMMAND --help`.
std::string CommandHelp(const CommandSpec& spec);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_OPTIONS_H_
