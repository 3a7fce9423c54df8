#include "client/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/choices.h"
#include "client/cli/failure.h"
#include "client/cli/npy.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

constexpr int64_t kMostConnections = 64;
constexpr int64_t kMostTries = 1000;
/// Writing a smaller result is faster than mapping its file.
constexpr int64_t kMapBytes = 1 << 20;
/// Text goes out in pieces of this size.
constexpr size_t kLinesPiece = 1 << 20;

/// The index at `i`. INTERNAL if the server sent one that is not below `end`.
absl::StatusOr<int64_t> IndexAt(const client::Array& indices, int64_t i, int64_t end) {
  const char* const element = indices.view().bytes.data() + i * indices.type.bytes();
  uint64_t index = 0;
  if (indices.type != KeyType::kUint32 && indices.type != KeyType::kUint64 && indices.type != KeyType::kInt64) {
    return absl::InternalError(absl::StrCat("the server answered with indices of type ", indices.type.Name()));
  }
  std::memcpy(&index, element, static_cast<size_t>(indices.type.bytes()));
  if (index >= static_cast<uint64_t>(end)) {
    return absl::InternalError(absl::StrCat("the server answered with index ", index, " of ", end));
  }
  return static_cast<int64_t>(index);
}

/// `options`, and then options that other commands have too.
std::vector<OptionSpec> Joined(std::vector<OptionSpec> options, const std::vector<OptionSpec>& more) {
  for (OptionSpec option : more) {
    option.common = true;
    options.push_back(option);
  }
  return options;
}

}  // namespace

std::vector<OptionSpec> WithServerOptions(std::vector<OptionSpec> options) {
  return Joined(
      std::move(options),
      {{"server", 's', "ADDRESS", "HOST:PORT of corankd (default: $CORANK_SERVER, else 127.0.0.1:50051)"},
       {"tls", 0, nullptr, "use TLS, and trust the authorities of this system"},
       {"tls-ca", 0, "FILE",
        "use TLS, and trust the authorities of this PEM file\n"
        "(default: $CORANK_SERVER_CA)"},
       {"tls-certificate", 0, "FILE", "certificate of this client, PEM (default: $CORANK_CLIENT_CERTIFICATE)"},
       {"tls-key", 0, "FILE", "key of that certificate, PEM (default: $CORANK_CLIENT_KEY)"},
       {"tls-server-name", 0, "NAME", "name in the server's certificate (default: the host of ADDRESS)"},
       {"json", 0, nullptr, "print the result as JSON, and an error as JSON on standard error"},
       {"quiet", 'q', nullptr, "print no progress and no summary"},
       {"version", 'V', nullptr, "print the version of corank"},
       {"help", 'h', nullptr, "print this help"}});
}

std::vector<OptionSpec> WithCommonOptions(std::vector<OptionSpec> options) {
  return WithServerOptions(
      Joined(std::move(options),
             {{"token-file", 0, "FILE", "file with the token that authenticates you (default: $CORANK_TOKEN)"},
              {"retries", 0, "N", "retries when the server is busy or unreachable (default: 5)"},
              {"deadline", 0, "TIME", "give up after this time, retries included, such as 30s or 5m (default: 5m)"}}));
}

std::vector<OptionSpec> WithFileOptions(std::vector<OptionSpec> options) {
  return WithCommonOptions(Joined(std::move(options), {{"force", 'f', nullptr, "replace an output file that exists"}}));
}

std::vector<OptionSpec> WithOperatorOptions(std::vector<OptionSpec> options) {
  return WithFileOptions(
      Joined(std::move(options),
             {{"place", 0, "PLACE", "how arrays travel: auto, inline, stream or shared-memory (default: auto)", false,
               "auto inline stream shared-memory"},
              {"connections", 0, "N", "connections of a stream, 1 to 64 (default: 4 above 128 MiB, else 1)"}}));
}

absl::StatusOr<client::ClientOptions> ReadClientOptions(const Arguments& arguments) {
  client::ClientOptions options = client::OptionsFromEnvironment();
  options.address = arguments.GetOr("server", options.address);
  for (const char* option : {"tls", "tls-ca", "tls-certificate", "tls-key", "tls-server-name"}) {
    if (arguments.Has(option) && !options.tls.has_value()) options.tls.emplace();
  }
  if (options.tls.has_value()) {
    options.tls->ca_file = arguments.GetOr("tls-ca", options.tls->ca_file);
    options.tls->certificate_file = arguments.GetOr("tls-certificate", options.tls->certificate_file);
    options.tls->key_file = arguments.GetOr("tls-key", options.tls->key_file);
    options.tls->server_name = arguments.GetOr("tls-server-name", "");
  }
  if (arguments.Has("token-file")) {
    options.token_file = arguments.GetOr("token-file", "");
    options.token.clear();
  }
  absl::StatusOr<std::optional<int64_t>> retries = arguments.GetCount("retries");
  if (!retries.ok()) return retries.status();
  if (retries->value_or(0) >= kMostTries) return UsageError(absl::StrCat("--retries must be less than ", kMostTries));
  options.retry.max_attempts = static_cast<int>(retries->value_or(options.retry.max_attempts - 1)) + 1;
  // The retry budget protects servers from programs that make many calls. Here the user chooses the retries.
  options.retry.budget_tokens = 0;
  absl::StatusOr<std::optional<absl::Duration>> deadline = arguments.GetDuration("deadline");
  if (!deadline.ok()) return deadline.status();
  options.deadline = deadline->value_or(options.deadline);
  return options;
}

absl::StatusOr<client::Client> Connect(const client::ClientOptions& options) {
  absl::StatusOr<client::Client> client = client::Client::Create(options);
  if (client.ok()) return client;
  absl::string_view message = client.status().message();
  const bool is_address = absl::ConsumePrefix(&message, "address: ");
  return UsageError(absl::StrCat(is_address ? "--server, CORANK_SERVER: " : "", InFlags(message)));
}

absl::StatusOr<client::Client> Connect(const Arguments& arguments) {
  absl::StatusOr<client::ClientOptions> options = ReadClientOptions(arguments);
  return options.ok() ? Connect(*options) : options.status();
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const Arguments& arguments,
                                                         const std::vector<const char*>& outputs) {
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  const bool show_progress = !arguments.Has("quiet") && isatty(STDERR_FILENO) != 0;
  auto session = std::unique_ptr<Session>(new Session(arguments, *std::move(client), show_progress));
  absl::StatusOr<client::Place> place = PlaceChoice(arguments);
  if (!place.ok()) return place.status();
  session->call_options_.place = *place;
  absl::StatusOr<std::optional<int64_t>> connections = arguments.GetCount("connections", 1);
  if (!connections.ok()) return connections.status();
  if (connections->has_value()) {
    if (**connections > kMostConnections) return UsageError("--connections must be 1 to 64");
    session->call_options_.connections = static_cast<int>(**connections);
  }
  if (const absl::Status opened = session->OpenOutputs(outputs); !opened.ok()) return opened;
  return session;
}

absl::Status Session::OpenOutputs(const std::vector<const char*>& options) {
  for (const char* option : options) {
    const std::optional<std::string> path = arguments_.Get(option);
    if (!path.has_value()) continue;
    if (path->empty()) return UsageError(absl::StrCat("--", option, " needs a name, not ''"));
    if (const absl::Status added = AddOutput(option, *path); !added.ok()) return added;
  }
  if (!options.empty()) main_output_ = options[0];
  return absl::OkStatus();
}

absl::Status Session::AddOutput(const char* option, const std::string& path) {
  for (const Output& other : outputs_) {
    if (!AreOneFile(other.file.path(), path)) continue;
    return UsageError(absl::StrCat("two outputs go to ", path,
                                   other.file.path() == path ? "" : absl::StrCat(", which is also ", other.file.path()),
                                   "; give each its own name"));
  }
  if (IsStandardOutput(path) && arguments_.Has("json")) {
    return UsageError("--json and the result cannot both go to standard output; name a file with --output");
  }
  absl::StatusOr<OutputFile> file = OutputFile::Create(path, arguments_.Has("force"));
  if (!file.ok()) return file.status();
  outputs_.push_back(Output{option, *std::move(file)});
  return absl::OkStatus();
}

absl::Status Session::ClaimInput(const std::string& path) {
  // A missing file is found first: what else the command line lacks depends on what the file is.
  if (path != kStandardStream) return CheckReadable(path);
  if (stdin_used_) return UsageError("only one input can come from standard input");
  stdin_used_ = true;
  return absl::OkStatus();
}

absl::Status Session::CheckTerminal() const {
  for (const Output& output : outputs_) {
    if (!IsStandardOutput(output.file.path()) || OutputFormat(output) == Format::kText) continue;
    if (isatty(STDOUT_FILENO) == 0) continue;
    return UsageError("binary data would garble the terminal; name a file with --output, or redirect standard output");
  }
  return absl::OkStatus();
}

absl::Status Session::TakeMainFormat(Format format) {
  main_format_ = format;
  if (main_output_ != nullptr && outputs_.empty()) {
    const bool is_text = format == Format::kText || format == Format::kCsv || format == Format::kTsv;
    if (!is_text) return UsageError(absl::StrCat("where does the result go? give --", main_output_, " FILE"));
    if (const absl::Status added = AddOutput(main_output_, kStandardStream); !added.ok()) return added;
  }
  return CheckTerminal();
}

absl::StatusOr<InputArray> Session::Load(const std::string& path, std::optional<client::ElementType> type,
                                         const std::string& type_flags) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  return LoadArray({path, type, type_flags}, &progress_);
}

absl::StatusOr<InputArray> Session::LoadMain(const std::string& path, std::optional<client::ElementType> type,
                                             const std::string& type_flags) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  const absl::StatusOr<std::optional<Format>> forced = FormatOption(arguments_);
  if (!forced.ok()) return forced.status();
  // A missing output of binary data is found before the input is read, which may take long from a pipe.
  const std::optional<Format> early = forced->has_value() ? *forced : FormatOfName(path);
  if (early.has_value() && *early != Format::kText && *early != Format::kCsv && *early != Format::kTsv) {
    if (const absl::Status taken = TakeMainFormat(*early); !taken.ok()) return taken;
  }
  absl::StatusOr<InputArray> array = LoadArray({path, type, type_flags, *forced, true}, &progress_);
  if (!array.ok()) return array.status();
  if (const absl::Status taken = TakeMainFormat(array->format); !taken.ok()) return taken;
  return array;
}

absl::StatusOr<FileBytes> Session::LoadMainTable(const std::string& path) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  if (const absl::Status taken = TakeMainFormat(Format::kText); !taken.ok()) return taken;
  if (const absl::Status checked = CheckIsOneArray(path, true); !checked.ok()) return checked;
  return LoadFile(path, &progress_);
}

absl::StatusOr<std::vector<int64_t>> Session::LoadMainInt64File(const std::string& path) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  std::vector<int64_t> numbers;
  const absl::StatusOr<InputArray> array = LoadInt64s(path, &numbers, &progress_);
  if (!array.ok()) return array.status();
  if (const absl::Status taken = TakeMainFormat(array->format); !taken.ok()) return taken;
  return numbers;
}

absl::StatusOr<std::vector<int64_t>> Session::LoadInt64Option(const char* option) {
  const std::optional<std::string> path = arguments_.Get(option);
  if (!path.has_value()) return UsageError(absl::StrCat("--", option, " FILE is required"));
  if (const absl::Status claimed = ClaimInput(*path); !claimed.ok()) return claimed;
  std::vector<int64_t> numbers;
  const absl::StatusOr<InputArray> array = LoadInt64s(*path, &numbers, &progress_);
  if (!array.ok()) return array.status();
  return numbers;
}

absl::Status Session::LoadSegments(std::vector<int64_t>* storage, std::optional<absl::Span<const int64_t>>* offsets) {
  if (!arguments_.Has("segments")) return absl::OkStatus();
  absl::StatusOr<std::vector<int64_t>> loaded = LoadInt64Option("segments");
  if (!loaded.ok()) return loaded.status();
  *storage = *std::move(loaded);
  *offsets = *storage;
  return absl::OkStatus();
}

absl::StatusOr<client::InitialDestination> Session::LoadDestination(client::ElementType type, InputArray* storage) {
  absl::StatusOr<std::optional<int64_t>> count = arguments_.GetCount("destination-count");
  if (!count.ok()) return count.status();
  const std::optional<std::string> path = arguments_.Get("destination");
  if (count->has_value() == path.has_value()) {
    return UsageError("give --destination FILE (what the result holds before) or --destination-count N (zeros)");
  }
  if (count->has_value()) return client::InitialDestination(**count);
  // A text has the type of its numbers, which the server compares with the source's.
  const bool is_text = FormatOfName(*path) == Format::kText;
  absl::StatusOr<InputArray> array =
      Load(*path, is_text ? std::nullopt : std::optional<client::ElementType>(type), "the type of the source");
  if (!array.ok()) return array.status();
  *storage = *std::move(array);
  return client::InitialDestination(storage->view());
}

Format Session::OutputFormat(const Output& output) const {
  const std::string& path = output.file.path();
  const Format like = output.like.value_or(main_format_);
  if (IsStandardOutput(path)) return like;
  // A name that says nothing gets text if the input is text: a person who sorts text expects text.
  return FormatOfName(path).value_or(like == Format::kText ? Format::kText : Format::kRaw);
}

std::vector<Session::Output>::iterator Session::Find(const char* option) {
  return std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& output) { return output.option == option; });
}

bool Session::IsTextOutput(const char* option) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    return output.option == option && OutputFormat(output) == Format::kText;
  });
}

absl::Status Session::CheckOutputType(const char* option, client::ElementType type) const {
  for (const Output& output : outputs_) {
    if (output.option != option) continue;
    const std::string& path = output.file.path();
    const Format format = OutputFormat(output);
    if (format == Format::kCsv || format == Format::kTsv) {
      return UsageError(absl::StrCat("cannot write ", path, ": the result is no table; name it .txt or .npy"));
    }
    if (format == Format::kText && type.is_record()) {
      return FileError(absl::StrCat("cannot write ", path, ": records are not numbers; name it .bin or .npy"));
    }
    if (format != Format::kNpy) continue;
    const absl::StatusOr<std::string> header = NpyHeaderFor(type, 0);
    if (!header.ok()) return FileError(absl::StrCat("cannot write ", path, ": ", header.status().message()));
  }
  return CheckTerminal();
}

absl::Status Session::OutputIsLike(const char* option, const InputArray& input) {
  if (const auto output = Find(option); output != outputs_.end()) {
    output->spelling = input.spelling;
    output->like = input.format;
  }
  return CheckOutputType(option, input.type);
}

absl::StatusOr<client::Output> Session::PlaceOutput(const char* option, client::ElementType type, int64_t count) {
  const auto output = Find(option);
  if (output == outputs_.end() || !output->file.is_mappable() || count < kMapBytes / type.bytes()) {
    return client::Output();
  }
  const Format format = OutputFormat(*output);
  if (format == Format::kText) return client::Output();
  std::string header;
  if (format == Format::kNpy) {
    absl::StatusOr<std::string> npy = NpyHeaderFor(type, count, output->spelling);
    if (!npy.ok()) return npy.status();
    header = *std::move(npy);
  }
  if (const absl::Status written = output->file.Write(header, &progress_); !written.ok()) return written;
  absl::StatusOr<absl::Span<char>> memory = output->file.Map(static_cast<int64_t>(header.size()), count * type.bytes());
  if (!memory.ok()) return memory.status();
  output->type = type.Name();
  output->count = count;
  output->is_mapped = true;
  return client::Output{*memory, "", false};
}

absl::Status Session::Save(const char* option, const client::Array& array) {
  const auto output = Find(option);
  if (output == outputs_.end()) return absl::OkStatus();
  if (output->is_mapped) {
    if (array.placed == output->count && array.type.Name() == output->type) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("the server answered with ", array.count(), " elements, not ", output->count));
  }
  output->type = array.type.Name();
  output->count = array.count();
  return WriteArray(array.view(), OutputFormat(*output), output->spelling, &output->file, &progress_);
}

absl::Status Session::SaveLines(const char* option, absl::string_view head, absl::Span<const absl::string_view> lines,
                                absl::string_view line_end, const client::Array& indices, const std::string& unit) {
  const auto output = Find(option);
  if (output == outputs_.end()) return absl::OkStatus();
  output->type = unit;
  output->count = indices.count();
  progress_.Start("writing", 0);
  std::string text(head);
  absl::Status status;
  for (int64_t i = 0; i < indices.count() && status.ok(); ++i) {
    const absl::StatusOr<int64_t> index = IndexAt(indices, i, static_cast<int64_t>(lines.size()));
    if (!index.ok()) return index.status();
    absl::StrAppend(&text, lines[static_cast<size_t>(*index)], line_end);
    if (text.size() < kLinesPiece) continue;
    status = output->file.Write(text, &progress_);
    text.clear();
  }
  if (status.ok()) status = output->file.Write(text, &progress_);
  progress_.Stop();
  return status;
}

absl::Status Session::FinishFiles() {
  for (Output& output : outputs_) {
    if (const absl::Status closed = output.file.Close(); !closed.ok()) return closed;
  }
  for (Output& output : outputs_) {
    if (const absl::Status committed = output.file.Commit(); !committed.ok()) return committed;
  }
  return absl::OkStatus();
}

absl::Status Session::Finish(const Report& report) {
  if (const absl::Status finished = FinishFiles(); !finished.ok()) return finished;
  if (arguments_.Has("json")) std::puts(JsonReport(report).c_str());
  // On a terminal, a summary would mix with the result.
  const bool is_shown =
      isatty(STDOUT_FILENO) != 0 &&
      std::any_of(outputs_.begin(), outputs_.end(), [](const Output& o) { return IsStandardOutput(o.file.path()); });
  if (!arguments_.Has("json") && !arguments_.Has("quiet") && !is_shown) std::fputs(TextReport(report).c_str(), stderr);
  return absl::OkStatus();
}

}  // namespace corank::cli
