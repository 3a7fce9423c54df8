#include "client/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

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
/// A smaller result is written faster than its file is mapped.
constexpr int64_t kMapBytes = 1 << 20;

std::vector<OptionSpec> Joined(std::vector<OptionSpec> options, const std::vector<OptionSpec>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// What a report says of a call that did not travel in a message.
std::string WayText(const client::RequestStats& stats) {
  std::string text;
  if (stats.place == client::Place::kSharedMemory) text = ", through shared memory";
  if (stats.place == client::Place::kStream) {
    text = absl::StrCat(", streamed over ", stats.connections, stats.connections == 1 ? " connection" : " connections",
                        ": receive ", TimeText(stats.receive_ns), ", send ", TimeText(stats.send_ns));
  }
  if (stats.out_of_core) absl::StrAppend(&text, ", out of core");
  if (stats.out_of_core && stats.runs > 0) absl::StrAppend(&text, " in ", stats.runs, " runs");
  return text;
}

}  // namespace

std::vector<OptionSpec> WithServerOptions(std::vector<OptionSpec> options) {
  return Joined(std::move(options),
                {{"server", 's', "ADDRESS", "host:port of corankd; else $CORANK_SERVER, else 127.0.0.1:50051"},
                 {"tls", 0, nullptr, "use TLS, and trust the authorities of this system"},
                 {"tls-ca", 0, "FILE", "use TLS, and trust the authorities of this PEM file; else $CORANK_SERVER_CA"},
                 {"tls-certificate", 0, "FILE", "this client's certificate (PEM); else $CORANK_CLIENT_CERTIFICATE"},
                 {"tls-key", 0, "FILE", "its key (PEM); else $CORANK_CLIENT_KEY"},
                 {"tls-server-name", 0, "NAME", "the name in the server's certificate, where ADDRESS has another"},
                 {"json", 0, nullptr, "print one JSON object on standard output"},
                 {"quiet", 'q', nullptr, "no progress and no summary"},
                 {"help", 'h', nullptr, "show this help"}});
}

std::vector<OptionSpec> WithCommonOptions(std::vector<OptionSpec> options) {
  return WithServerOptions(
      Joined(std::move(options),
             {{"token-file", 0, "FILE", "the file with the token that says who asks; else $CORANK_TOKEN"},
              {"retries", 0, "N", "tries after the first, when the server is busy or away (5)"},
              {"deadline", 0, "TIME", "give up after this time, retries included, such as 30s or 5m (5m)"}}));
}

std::vector<OptionSpec> WithFileOptions(std::vector<OptionSpec> options) {
  return WithCommonOptions(Joined(std::move(options), {{"force", 'f', nullptr, "replace an output file that exists"}}));
}

std::vector<OptionSpec> WithOperatorOptions(std::vector<OptionSpec> options) {
  return WithFileOptions(
      Joined(std::move(options),
             {{"place", 0, "PLACE", "how arrays travel: auto (the default), inline, stream, shared-memory"},
              {"connections", 0, "N", "connections for streams, 1 to 64 (4 from 256 MiB on, else 1)"}}));
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
  // It holds programs back that make many calls: here the user says how often.
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
  std::vector<std::string> paths;
  for (const char* option : options) {
    const std::optional<std::string> path = arguments_.Get(option);
    if (!path.has_value()) continue;
    if (path->empty()) return UsageError(absl::StrCat("--", option, " needs a name, not ''"));
    for (const std::string& other : paths) {
      if (!AreOneFile(other, *path)) continue;
      return UsageError(absl::StrCat("two outputs go to ", *path,
                                     other == *path ? "" : absl::StrCat(", which is also ", other),
                                     "; give each its own name"));
    }
    paths.push_back(*path);
    const bool is_standard_output = IsStandardOutput(*path);
    if (is_standard_output && arguments_.Has("json")) {
      return UsageError("--json and the result cannot both go to standard output; name an output file");
    }
    if (is_standard_output && isatty(STDOUT_FILENO) != 0) {
      return UsageError("binary data does not go to a terminal; name an output file or redirect standard output");
    }
    absl::StatusOr<OutputFile> file = OutputFile::Create(*path, arguments_.Has("force"));
    if (!file.ok()) return file.status();
    outputs_.push_back(Output{option, *std::move(file)});
  }
  if (!options.empty() && outputs_.empty())
    return UsageError(absl::StrCat("where does the result go? give --", options[0], " FILE"));
  return absl::OkStatus();
}

absl::Status Session::ClaimInput(const std::string& path) {
  if (path != kStandardStream) return absl::OkStatus();
  if (stdin_used_) return UsageError("only one input can come from standard input");
  stdin_used_ = true;
  return absl::OkStatus();
}

absl::StatusOr<InputArray> Session::Load(const std::string& path, std::optional<client::ElementType> type,
                                         absl::string_view type_flags) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  return LoadArray(path, type, type_flags, &progress_);
}

absl::StatusOr<InputArray> Session::LoadMain(const std::string& path, std::optional<client::ElementType> type,
                                             absl::string_view type_flags) {
  absl::StatusOr<InputArray> array = Load(path, type, type_flags);
  if (array.ok()) main_is_npy_ = array->is_npy;
  return array;
}

absl::StatusOr<std::vector<int64_t>> Session::LoadInt64File(const std::string& path) {
  if (const absl::Status claimed = ClaimInput(path); !claimed.ok()) return claimed;
  return LoadInt64s(path, &progress_);
}

absl::StatusOr<std::vector<int64_t>> Session::LoadInt64Option(const char* option) {
  const std::optional<std::string> path = arguments_.Get(option);
  if (!path.has_value()) return UsageError(absl::StrCat("--", option, " FILE is required"));
  return LoadInt64File(*path);
}

absl::StatusOr<client::InitialDestination> Session::LoadDestination(client::ElementType type, InputArray* storage) {
  absl::StatusOr<std::optional<int64_t>> count = arguments_.GetCount("destination-count");
  if (!count.ok()) return count.status();
  const std::optional<std::string> path = arguments_.Get("destination");
  if (count->has_value() == path.has_value()) {
    return UsageError("give --destination FILE (what the result holds before) or --destination-count N (zeros)");
  }
  if (count->has_value()) return client::InitialDestination(**count);
  absl::StatusOr<InputArray> array = Load(*path, type, "--type");
  if (!array.ok()) return array.status();
  *storage = *std::move(array);
  return client::InitialDestination(storage->view());
}

absl::Status Session::CheckOutputType(const char* option, client::ElementType type) const {
  const std::optional<std::string> path = arguments_.Get(option);
  if (!path.has_value() || !WritesNpy(*path, main_is_npy_)) return absl::OkStatus();
  absl::StatusOr<std::string> header = NpyHeaderFor(type, 0);
  return header.ok() ? absl::OkStatus()
                     : FileError(absl::StrCat("cannot write ", *path, ": ", header.status().message()));
}

absl::Status Session::OutputIsLike(const char* option, const InputArray& input) {
  for (Output& output : outputs_) {
    if (output.option == option) output.spelling = input.spelling;
  }
  return CheckOutputType(option, input.type);
}

absl::StatusOr<client::Output> Session::PlaceOutput(const char* option, client::ElementType type, int64_t count) {
  for (Output& output : outputs_) {
    if (output.option != option || !output.file.is_mappable() || count < kMapBytes / type.bytes()) continue;
    std::string header;
    if (WritesNpy(output.file.path(), main_is_npy_)) {
      absl::StatusOr<std::string> npy = NpyHeaderFor(type, count, output.spelling);
      if (!npy.ok()) return npy.status();
      header = *std::move(npy);
    }
    if (const absl::Status written = output.file.Write(header, &progress_); !written.ok()) return written;
    absl::StatusOr<absl::Span<char>> memory =
        output.file.Map(static_cast<int64_t>(header.size()), count * type.bytes());
    if (!memory.ok()) return memory.status();
    output.type = type;
    output.count = count;
    output.is_mapped = true;
    return client::Output{*memory, "", false};
  }
  return client::Output();
}

absl::Status Session::Save(const char* option, const client::Array& array) {
  for (Output& output : outputs_) {
    if (output.option != option) continue;
    if (output.is_mapped) {
      if (array.placed == output.count && array.type == *output.type) return absl::OkStatus();
      return absl::InternalError(
          absl::StrCat("the server answered with ", array.count(), " elements, not ", output.count));
    }
    output.type = array.type;
    output.count = array.count();
    const bool as_npy = WritesNpy(output.file.path(), main_is_npy_);
    return WriteArray(array.view(), as_npy, output.spelling, &output.file, &progress_);
  }
  return absl::OkStatus();
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
  if (!arguments_.Has("json") && !arguments_.Has("quiet")) std::fputs(TextReport(report).c_str(), stderr);
  return absl::OkStatus();
}

std::string Session::JsonReport(const Report& report) const {
  std::string outputs;
  for (const Output& output : outputs_) {
    JsonObject entry;
    entry.Add("option", output.option).Add("path", output.file.path());
    entry.Add("type", output.type->Name()).Add("count", output.count);
    absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", entry.Text());
  }
  JsonObject json;
  json.Add("operator", report.operation).Add("elements", report.elements).Add("type", report.type.Name());
  if (!report.algorithm.empty()) json.Add("algorithm", report.algorithm);
  const client::RequestStats& stats = report.stats;
  json.Add("engine", stats.engine)
      .Add("device", stats.device)
      .Add("device_ordinal", int64_t{stats.device_ordinal})
      .Add("request_id", stats.request_id);
  json.Add("queue_ns", stats.queue_ns).Add("copy_in_ns", stats.copy_in_ns).Add("kernel_ns", stats.kernel_ns);
  json.Add("copy_out_ns", stats.copy_out_ns).Add("round_trip_ns", stats.round_trip_ns);
  json.Add("receive_ns", stats.receive_ns).Add("send_ns", stats.send_ns);
  json.Add("runs", int64_t{stats.runs}).Add("out_of_core", stats.out_of_core);
  json.Add("place", PlaceName(stats.place)).Add("connections", int64_t{stats.connections});
  json.Add("workspace_bytes", stats.workspace_bytes).Add("batch_size", int64_t{stats.batch_size});
  json.Add("attempts", int64_t{stats.attempts}).AddJson("outputs", absl::StrCat("[", outputs, "]"));
  return json.Text();
}

std::string Session::TextReport(const Report& report) const {
  const client::RequestStats& stats = report.stats;
  std::string text = absl::StrCat(report.operation, ": ", CountText(report.elements), " x ", report.type.Name(), " on ",
                                  stats.engine, report.algorithm.empty() ? "" : absl::StrCat(" by ", report.algorithm),
                                  " in ", TimeText(stats.round_trip_ns), " (queue ", TimeText(stats.queue_ns),
                                  ", copy in ", TimeText(stats.copy_in_ns), ", kernel ", TimeText(stats.kernel_ns),
                                  ", copy out ", TimeText(stats.copy_out_ns), WayText(stats), ")\n");
  for (const Output& output : outputs_) {
    absl::StrAppend(&text, "  ", output.file.path() == kStandardStream ? "standard output" : output.file.path(), ": ",
                    CountText(output.count), " x ", output.type->Name(), "\n");
  }
  return text;
}

}  // namespace corank::cli
