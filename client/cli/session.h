// The parts that commands share: connection, inputs, outputs, progress line and the report at the end.
#ifndef CORANK_CLIENT_CLI_SESSION_H_
#define CORANK_CLIENT_CLI_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/arrays.h"
#include "client/cli/files.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "corank/client.h"

namespace corank::cli {

/// What a command reports about its work.
struct Report {
  const char* operation = "";  // "sort"
  int64_t elements = 0;        // of the main input
  std::string type;            // "uint32"; of a table "row"
  std::string algorithm;       // empty if the operator has only one
  client::RequestStats stats;
  std::string note = {};  // a line of its own
};

/// One run of a command on files. Not thread-safe.
class Session {
 public:
  /// Reads the options that all commands share. `outputs` are the options that name output files.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const Arguments& arguments,
                                                         const std::vector<const char*>& outputs);

  const Arguments& arguments() const { return arguments_; }
  const client::Client& client() const { return client_; }

  /// The main array of a command. Outputs whose name does not say their format follow it.
  absl::StatusOr<InputArray> LoadMain(const std::string& path, std::optional<client::ElementType> type,
                                      const std::string& type_flags);
  absl::StatusOr<InputArray> Load(const std::string& path, std::optional<client::ElementType> type,
                                  const std::string& type_flags);
  /// The bytes of a table, as the main input of a command.
  absl::StatusOr<FileBytes> LoadMainTable(const std::string& path);
  /// Offsets or counts: the main input, or the file that an option names; UsageError if that option is missing.
  absl::StatusOr<std::vector<int64_t>> LoadMainInt64File(const std::string& path);
  absl::StatusOr<std::vector<int64_t>> LoadInt64Option(const char* option);
  /// The offsets of --segments; leaves both as they are without the option. *storage holds what *offsets refers to.
  absl::Status LoadSegments(std::vector<int64_t>* storage, std::optional<absl::Span<const int64_t>>* offsets);
  /// The initial content of the destination of Move and Scatter. *storage holds the array that it refers to.
  absl::StatusOr<client::InitialDestination> LoadDestination(client::ElementType type, InputArray* storage);

  /// FileError if the output option is given and its format cannot hold elements of this type.
  absl::Status CheckOutputType(const char* option, client::ElementType type) const;
  /// The same for an output that holds elements of an input, whose format and dtype it takes.
  absl::Status OutputIsLike(const char* option, const InputArray& input);
  /// Whether the output is given and will be text.
  bool IsTextOutput(const char* option) const;
  /// Runs one call of the client, with --place and --connections, and shows its progress.
  template <typename Fn>
  auto Call(Fn&& call) {
    progress_.StartCall(&transfer_);
    auto result = call(client_, call_options_);
    progress_.Stop();
    return result;
  }
  /// Where a result of `count` elements of an output option goes: straight into its file if that can be mapped, else
  /// into memory. Call Save in either case.
  absl::StatusOr<client::Output> PlaceOutput(const char* option, client::ElementType type, int64_t count);
  /// Writes the array to the file that an output option names; does nothing if that option is not given.
  absl::Status Save(const char* option, const client::Array& array);
  /// Writes `head`, and then the lines with these indices. `unit` names a line in the report: "int64", "row".
  absl::Status SaveLines(const char* option, absl::string_view head, absl::Span<const absl::string_view> lines,
                         absl::string_view line_end, const client::Array& indices, const std::string& unit);
  /// Gives all output files their names.
  absl::Status FinishFiles();
  /// The same, and then reports.
  absl::Status Finish(const Report& report);

 private:
  struct Output {
    std::string option;
    OutputFile file;
    RecordSpelling spelling = RecordSpelling::kVoid;
    std::optional<Format> like = std::nullopt;  // the format of the input that it resembles, if not the main one
    std::string type = {};                      // set once it is written or mapped
    int64_t count = 0;
    bool is_mapped = false;
  };

  Session(const Arguments& arguments, client::Client client, bool show_progress)
      : arguments_(arguments), client_(std::move(client)), progress_(show_progress) {
    call_options_.progress = &transfer_;
  }

  absl::Status OpenOutputs(const std::vector<const char*>& options);
  absl::Status AddOutput(const char* option, const std::string& path);
  absl::Status ClaimInput(const std::string& path);
  /// Stores the format. Without --output, a text result goes to standard output and any other is a UsageError.
  absl::Status TakeMainFormat(Format format);
  absl::Status CheckTerminal() const;
  Format OutputFormat(const Output& output) const;
  std::vector<Output>::iterator Find(const char* option);
  std::string JsonReport(const Report& report) const;
  std::string TextReport(const Report& report) const;

  const Arguments arguments_;
  client::Client client_;
  client::TransferProgress transfer_;
  client::CallOptions call_options_;
  Progress progress_;
  std::vector<Output> outputs_;
  const char* main_output_ = nullptr;  // the option of the main result; null if the command has no result in a file
  Format main_format_ = Format::kRaw;
  bool stdin_used_ = false;
};

/// The server, TLS, token, deadline and retries, as the environment and the options say.
absl::StatusOr<client::ClientOptions> ReadClientOptions(const Arguments& arguments);
/// A client with them. UsageError if an option is unusable.
absl::StatusOr<client::Client> Connect(const client::ClientOptions& options);
absl::StatusOr<client::Client> Connect(const Arguments& arguments);

// For CommandSpec tables. Each function adds options to those of the next one.

/// For an operator: how arrays travel.
std::vector<OptionSpec> WithOperatorOptions(std::vector<OptionSpec> options);
/// For commands that write files.
std::vector<OptionSpec> WithFileOptions(std::vector<OptionSpec> options);
/// For commands that make calls of corank: token, retries, deadline.
std::vector<OptionSpec> WithCommonOptions(std::vector<OptionSpec> options);
/// For every command with a server: its address, TLS, --json, --quiet and --help.
std::vector<OptionSpec> WithServerOptions(std::vector<OptionSpec> options);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_SESSION_H_
