// What the commands share: the connection, the inputs, the outputs, the progress line and the report at the end.
#ifndef CORANK_CLIENT_CLI_SESSION_H_
#define CORANK_CLIENT_CLI_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/arrays.h"
#include "client/cli/files.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "corank/client.h"

namespace corank::cli {

/// What a command tells about its work.
struct Report {
  const char* operation = "";  // "sort"
  int64_t elements = 0;        // of the main input
  client::ElementType type = KeyType::kUint8;
  std::string algorithm;  // empty where there is none
  client::RequestStats stats;
};

/// One run of a command on files. Not thread-safe.
class Session {
 public:
  /// Reads the options that all commands share. `outputs` are the options that name output files.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const Arguments& arguments,
                                                         const std::vector<const char*>& outputs);

  const Arguments& arguments() const { return arguments_; }
  const client::Client& client() const { return client_; }

  /// The main array of a command; outputs on standard output take its format.
  absl::StatusOr<InputArray> LoadMain(const std::string& path, std::optional<client::ElementType> type,
                                      absl::string_view type_flags);
  absl::StatusOr<InputArray> Load(const std::string& path, std::optional<client::ElementType> type,
                                  absl::string_view type_flags);
  /// Offsets or counts: a file, or the one that an option names; UsageError if that option is missing.
  absl::StatusOr<std::vector<int64_t>> LoadInt64File(const std::string& path);
  absl::StatusOr<std::vector<int64_t>> LoadInt64Option(const char* option);
  /// The options of Move and Scatter that say what the destination holds; *storage keeps the array alive.
  absl::StatusOr<client::InitialDestination> LoadDestination(client::ElementType type, InputArray* storage);

  /// FileError if the output option is given and its format cannot hold elements of this type.
  absl::Status CheckOutputType(const char* option, client::ElementType type) const;
  /// The same for an output that holds elements of an input, and will be written with its dtype.
  absl::Status OutputIsLike(const char* option, const InputArray& input);
  /// Runs one call of the client, with --place and --connections, while the progress line shows how far it is.
  template <typename Fn>
  auto Call(Fn&& call) {
    progress_.StartCall(&transfer_);
    auto result = call(client_, call_options_);
    progress_.Stop();
    return result;
  }
  /// Where a result of `count` elements goes that an output option names: straight into the file, if it is one; else,
  /// and if the option is not given, into memory. To be saved with Save in either case.
  absl::StatusOr<client::Output> PlaceOutput(const char* option, client::ElementType type, int64_t count);
  /// Writes the array to the file that an output option names; does nothing if that option is not given.
  absl::Status Save(const char* option, const client::Array& array);
  /// Gives all output files their names.
  absl::Status FinishFiles();
  /// The same, then reports.
  absl::Status Finish(const Report& report);

 private:
  struct Output {
    std::string option;
    OutputFile file;
    RecordSpelling spelling = RecordSpelling::kVoid;
    std::optional<client::ElementType> type = std::nullopt;  // once it is written or mapped
    int64_t count = 0;
    bool is_mapped = false;
  };

  Session(const Arguments& arguments, client::Client client, bool show_progress)
      : arguments_(arguments), client_(std::move(client)), progress_(show_progress) {
    call_options_.progress = &transfer_;
  }

  absl::Status OpenOutputs(const std::vector<const char*>& options);
  absl::Status ClaimInput(const std::string& path);
  std::string JsonReport(const Report& report) const;
  std::string TextReport(const Report& report) const;

  const Arguments arguments_;
  client::Client client_;
  client::TransferProgress transfer_;
  client::CallOptions call_options_;
  Progress progress_;
  std::vector<Output> outputs_;
  bool main_is_npy_ = false;
  bool stdin_used_ = false;
};

/// What the environment and the options say of the server, TLS, token, deadline and tries.
absl::StatusOr<client::ClientOptions> ReadClientOptions(const Arguments& arguments);
/// A client with them. An option that will not do is a UsageError.
absl::StatusOr<client::Client> Connect(const client::ClientOptions& options);
absl::StatusOr<client::Client> Connect(const Arguments& arguments);

/// For CommandSpec tables: options that say where the server is and who it is, with --json, --quiet and --help; those
/// of commands that make calls of corank's; those of commands that read and write arrays; those of an operator.
std::vector<OptionSpec> WithServerOptions(std::vector<OptionSpec> options);
std::vector<OptionSpec> WithCommonOptions(std::vector<OptionSpec> options);
std::vector<OptionSpec> WithFileOptions(std::vector<OptionSpec> options);
std::vector<OptionSpec> WithOperatorOptions(std::vector<OptionSpec> options);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_SESSION_H_
