#include "server/flags.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/marshalling.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/addresses.h"
#include "server/execute/status_macros.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50051", "Address that serves gRPC, HOST:PORT; port 0 takes a free one.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "Address that serves Prometheus metrics under /metrics, HOST:PORT; port 0 takes a free one. Empty: none.");
ABSL_FLAG(std::string, engine, "auto", "auto (CUDA where it works, else CPU), cuda or cpu.");
ABSL_FLAG(int32_t, device, 0, "Ordinal of the GPU, 0 to 127.");
ABSL_FLAG(int32_t, lanes, 4, "Requests that run at the same time, 1 to 256.");
ABSL_FLAG(int32_t, long_lanes, 4,
          "Streams, and requests on large arrays outside of messages, that run at the same time, 1 to 256.");
ABSL_FLAG(int32_t, cpu_threads, 0, "Threads of one operator on the CPU engine, 0 to 4096; 0 takes all cores.");
ABSL_FLAG(int64_t, max_request_bytes, int64_t{256} << 20,
          "Largest request message, and largest response message, in bytes, 1024 to 2147483647.");
ABSL_FLAG(int32_t, max_queued_requests, 1024, "Requests that may wait, 1 or more.");
ABSL_FLAG(int64_t, max_queued_bytes, int64_t{4} << 30,
          "Bytes of the requests that may wait, --max-request-bytes or more.");
ABSL_FLAG(
    int32_t, small_lanes, 2,
    "On a GPU: lanes that may have small requests at the same time; what arrives meanwhile becomes a batch. 0: all.");
ABSL_FLAG(int64_t, host_pool_bytes, int64_t{8} << 30,
          "Pinned host memory for requests and answers on their way, in bytes, --max-request-bytes or more.");
ABSL_FLAG(std::vector<std::string>, shared_memory, {},
          "What the names of POSIX shared-memory objects that callers may register begin with, such as /corank-; "
          "several with commas between. Empty: shared memory is off.");
ABSL_FLAG(bool, cuda_ipc, false,
          "Whether callers may register GPU memory of other processes. Only for trusted callers: kernels read it in "
          "place, and a process that changes it meanwhile can break the server.");
ABSL_FLAG(absl::Duration, region_expiry, absl::Minutes(10),
          "A region without a lease that was not used for this long is unregistered.");
ABSL_FLAG(int64_t, kept_bytes, 0, "Device memory for arrays that callers keep on the server, in bytes. 0: off.");
ABSL_FLAG(int64_t, kept_quota_bytes, 0,
          "What the arrays of one caller may take of it, in bytes, at most --kept-bytes; 0 takes all of it.");
ABSL_FLAG(absl::Duration, kept_expiry, absl::Hours(1),
          "A kept array that was not used for this long is forgotten, where its maker does not say.");
ABSL_FLAG(int64_t, direct_bytes, 16 << 10,
          "A request of at most this many bytes runs on the thread that brings it, while nothing waits. 0: none does.");
ABSL_FLAG(
    int64_t, stream_window_bytes, int64_t{64} << 20,
    "Pinned host memory in which the chunks of one stream wait, and as much again for its answer, in bytes, 4 MiB "
    "or more.");
ABSL_FLAG(
    int64_t, max_device_bytes, 0,
    "Device memory that the arrays of one stream may take, in bytes, 1 MiB or more; larger sorts work out of core. "
    "0: three quarters of the device's, shared out among the long lanes.");
ABSL_FLAG(
    int64_t, max_stream_host_bytes, 0,
    "Host memory that the arrays of one stream may take beside its window, in bytes. 0: half of the host's, shared "
    "out among the long lanes.");
ABSL_FLAG(absl::Duration, stream_idle_timeout, absl::Minutes(1),
          "A stream whose caller neither sends nor reads for this long while it has a lane is ended.");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30),
          "After SIGTERM or SIGINT: time for the admitted requests to end, such as 30s or 2m.");
ABSL_FLAG(std::string, log_level, "info", "Least level of log lines: debug, info, warning or error.");
ABSL_FLAG(std::string, ports_file, "", "File to write once the server serves: JSON with its addresses. Empty: none.");

namespace corank {
namespace {

// A flag with its type forgotten.
struct FlagEntry {
  const absl::CommandLineFlag* flag;
  std::function<bool(const std::string& text, std::string* error)> set;

  std::string Name() const { return absl::StrReplaceAll(flag->Name(), {{"_", "-"}}); }
  std::string Variable() const { return absl::StrCat("CORANK_", absl::AsciiStrToUpper(flag->Name())); }
};

template <typename T>
FlagEntry Entry(absl::Flag<T>& flag) {
  return {&absl::GetFlagReflectionHandle(flag), [&flag](const std::string& text, std::string* error) {
            T value;
            if (!absl::ParseFlag<T>(text, &value, error)) return false;
            absl::SetFlag(&flag, value);
            return true;
          }};
}

const std::vector<FlagEntry>& Entries() {
  static const auto* const entries = new std::vector<FlagEntry>{Entry(FLAGS_listen),
                                                                Entry(FLAGS_metrics_listen),
                                                                Entry(FLAGS_engine),
                                                                Entry(FLAGS_device),
                                                                Entry(FLAGS_lanes),
                                                                Entry(FLAGS_long_lanes),
                                                                Entry(FLAGS_cpu_threads),
                                                                Entry(FLAGS_max_request_bytes),
                                                                Entry(FLAGS_max_queued_requests),
                                                                Entry(FLAGS_max_queued_bytes),
                                                                Entry(FLAGS_direct_bytes),
                                                                Entry(FLAGS_small_lanes),
                                                                Entry(FLAGS_host_pool_bytes),
                                                                Entry(FLAGS_shared_memory),
                                                                Entry(FLAGS_cuda_ipc),
                                                                Entry(FLAGS_region_expiry),
                                                                Entry(FLAGS_kept_bytes),
                                                                Entry(FLAGS_kept_quota_bytes),
                                                                Entry(FLAGS_kept_expiry),
                                                                Entry(FLAGS_stream_window_bytes),
                                                                Entry(FLAGS_max_device_bytes),
                                                                Entry(FLAGS_max_stream_host_bytes),
                                                                Entry(FLAGS_stream_idle_timeout),
                                                                Entry(FLAGS_drain_timeout),
                                                                Entry(FLAGS_log_level),
                                                                Entry(FLAGS_ports_file)};
  return *entries;
}

absl::Status Set(const FlagEntry& entry, const std::string& text, const std::string& source) {
  std::string error;
  if (entry.set(text, &error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": '", text, "' is not a valid value", error.empty() ? "" : ": ", error));
}

absl::Status ReadEnvironment() {
  for (const FlagEntry& entry : Entries()) {
    const std::string variable = entry.Variable();
    if (const char* text = std::getenv(variable.c_str())) CORANK_RETURN_IF_ERROR(Set(entry, text, variable));
  }
  return absl::OkStatus();
}

absl::Status ReadArguments(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!absl::StartsWith(argument, "--")) {
      return absl::InvalidArgumentError(absl::StrCat("'", argument, "' is not a flag; --help lists them"));
    }
    const size_t equals = argument.find('=');
    const std::string name = absl::StrReplaceAll(
        absl::string_view(argument).substr(2, equals == std::string::npos ? equals : equals - 2), {{"_", "-"}});
    const FlagEntry* found = nullptr;
    for (const FlagEntry& entry : Entries()) {
      if (entry.Name() == name) found = &entry;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("there is no flag --", name, "; --help lists them"));
    }
    if (equals == std::string::npos && found->flag->IsOfType<bool>()) {
      CORANK_RETURN_IF_ERROR(Set(*found, "true", absl::StrCat("--", name)));
      continue;
    }
    if (equals == std::string::npos && i + 1 == arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    }
    CORANK_RETURN_IF_ERROR(Set(*found, equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1),
                               absl::StrCat("--", name)));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(absl::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", value, " is not in ", least, " to ", most));
}

absl::Status CheckAddress(absl::string_view name, const std::string& address) {
  const absl::Status status = ParseHostPort(address).status();
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat("--", name, ": ", status.message()));
}

absl::StatusOr<EngineChoice> ParseEngine(const std::string& name) {
  if (name == "auto") return EngineChoice::kAuto;
  if (name == "cuda") return EngineChoice::kCuda;
  if (name == "cpu") return EngineChoice::kCpu;
  return absl::InvalidArgumentError(absl::StrCat("--engine: '", name, "' is not auto, cuda or cpu"));
}

absl::Status CheckDuration(absl::string_view name, absl::Duration value, absl::Duration least) {
  if (value >= least && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", absl::FormatDuration(value), " is not in ",
                                                 absl::FormatDuration(least), " to 24h"));
}

// Where arrays outside of messages may be.
absl::Status ReadPlaces(Server::Options& server) {
  server.host_pool.max_bytes = absl::GetFlag(FLAGS_host_pool_bytes);
  if (server.host_pool.max_bytes < server.limits.max_request_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("--host-pool-bytes: ", server.host_pool.max_bytes,
                                                   " is less than --max-request-bytes, ",
                                                   server.limits.max_request_bytes));
  }
  server.regions.shared_memory_prefixes = absl::GetFlag(FLAGS_shared_memory);
  for (const std::string& prefix : server.regions.shared_memory_prefixes) {
    if (prefix.size() < 2 || prefix.front() != '/' || prefix.find('/', 1) != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--shared-memory: '", prefix, "' is not a slash and at least one more character, such as /corank-"));
    }
  }
  server.regions.cuda_ipc = absl::GetFlag(FLAGS_cuda_ipc);
  CORANK_RETURN_IF_ERROR(CheckDuration("region-expiry", absl::GetFlag(FLAGS_region_expiry), absl::Seconds(1)));
  server.regions.expiry = absl::ToChronoNanoseconds(absl::GetFlag(FLAGS_region_expiry));
  server.arrays.max_bytes = absl::GetFlag(FLAGS_kept_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("kept-bytes", server.arrays.max_bytes, 0, std::numeric_limits<int64_t>::max()));
  server.arrays.quota_bytes = absl::GetFlag(FLAGS_kept_quota_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("kept-quota-bytes", server.arrays.quota_bytes, 0, server.arrays.max_bytes));
  if (server.arrays.quota_bytes == 0) server.arrays.quota_bytes = server.arrays.max_bytes;
  CORANK_RETURN_IF_ERROR(CheckDuration("kept-expiry", absl::GetFlag(FLAGS_kept_expiry), absl::Seconds(1)));
  server.arrays.default_expiry = absl::ToChronoSeconds(absl::GetFlag(FLAGS_kept_expiry));
  return absl::OkStatus();
}

absl::Status ReadStreams(Server::Options& server) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  StreamOptions& streams = server.streams;
  streams.window_bytes = absl::GetFlag(FLAGS_stream_window_bytes);
  CORANK_RETURN_IF_ERROR(
      CheckRange("stream-window-bytes", streams.window_bytes, int64_t{4} << 20, server.host_pool.max_bytes));
  streams.max_device_bytes = absl::GetFlag(FLAGS_max_device_bytes);
  if (streams.max_device_bytes != 0) {
    CORANK_RETURN_IF_ERROR(CheckRange("max-device-bytes", streams.max_device_bytes, int64_t{1} << 20, kMost));
  }
  streams.max_host_bytes = absl::GetFlag(FLAGS_max_stream_host_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("max-stream-host-bytes", streams.max_host_bytes, 0, kMost));
  streams.idle_timeout = absl::GetFlag(FLAGS_stream_idle_timeout);
  return CheckDuration("stream-idle-timeout", streams.idle_timeout, absl::Seconds(1));
}

absl::StatusOr<Configuration> FromFlags() {
  Configuration configuration;
  Server::Options& server = configuration.server;
  server.listen = absl::GetFlag(FLAGS_listen);
  CORANK_RETURN_IF_ERROR(CheckAddress("listen", server.listen));
  server.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  if (!server.metrics_listen.empty()) {
    CORANK_RETURN_IF_ERROR(CheckAddress("metrics-listen", server.metrics_listen));
  }
  CORANK_ASSIGN_OR_RETURN(configuration.engine.choice, ParseEngine(absl::GetFlag(FLAGS_engine)));
  configuration.engine.device = absl::GetFlag(FLAGS_device);
  CORANK_RETURN_IF_ERROR(CheckRange("device", configuration.engine.device, 0, 127));
  server.lanes = absl::GetFlag(FLAGS_lanes);
  CORANK_RETURN_IF_ERROR(CheckRange("lanes", server.lanes, 1, 256));
  server.long_lanes = absl::GetFlag(FLAGS_long_lanes);
  CORANK_RETURN_IF_ERROR(CheckRange("long-lanes", server.long_lanes, 1, 256));
  configuration.engine.cpu_threads = absl::GetFlag(FLAGS_cpu_threads);
  CORANK_RETURN_IF_ERROR(CheckRange("cpu-threads", configuration.engine.cpu_threads, 0, 4096));
  server.limits.max_request_bytes = absl::GetFlag(FLAGS_max_request_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("max-request-bytes", server.limits.max_request_bytes, 1024,
                                    std::numeric_limits<int32_t>::max()));  // Protobuf's own limit
  server.limits.max_response_bytes = server.limits.max_request_bytes;
  server.queue.max_requests = absl::GetFlag(FLAGS_max_queued_requests);
  CORANK_RETURN_IF_ERROR(
      CheckRange("max-queued-requests", server.queue.max_requests, 1, std::numeric_limits<int32_t>::max()));
  server.queue.max_bytes = absl::GetFlag(FLAGS_max_queued_bytes);
  server.long_queue = server.queue;
  server.queue.direct_bytes = absl::GetFlag(FLAGS_direct_bytes);
  server.small_lanes = absl::GetFlag(FLAGS_small_lanes);
  CORANK_RETURN_IF_ERROR(CheckRange("small-lanes", server.small_lanes, 0, 256));
  CORANK_RETURN_IF_ERROR(CheckRange("direct-bytes", server.queue.direct_bytes, 0, int64_t{1} << 20));
  if (server.queue.max_bytes < server.limits.max_request_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("--max-queued-bytes: ", server.queue.max_bytes,
                                                   " is less than --max-request-bytes, ",
                                                   server.limits.max_request_bytes));
  }
  configuration.drain_timeout = absl::GetFlag(FLAGS_drain_timeout);
  CORANK_RETURN_IF_ERROR(CheckDuration("drain-timeout", configuration.drain_timeout, absl::ZeroDuration()));
  CORANK_RETURN_IF_ERROR(ReadPlaces(server));
  CORANK_RETURN_IF_ERROR(ReadStreams(server));
  const std::string level = absl::GetFlag(FLAGS_log_level);
  const std::optional<LogLevel> parsed_level = ParseLogLevel(level);
  if (!parsed_level) {
    return absl::InvalidArgumentError(absl::StrCat("--log-level: '", level, "' is not debug, info, warning or error"));
  }
  configuration.log_level = *parsed_level;
  configuration.ports_file = absl::GetFlag(FLAGS_ports_file);
  return configuration;
}

}  // namespace

absl::StatusOr<Configuration> ReadConfiguration(const std::vector<std::string>& arguments) {
  Configuration words_only;
  for (const std::string& argument : arguments) {
    words_only.help |= argument == "--help" || argument == "-h";
    words_only.version |= argument == "--version";
  }
  if (words_only.help || words_only.version) return words_only;
  CORANK_RETURN_IF_ERROR(ReadEnvironment());
  CORANK_RETURN_IF_ERROR(ReadArguments(arguments));
  return FromFlags();
}

std::string HelpText() {
  std::string text =
      "corankd: serves sort, merge and interval moves over gRPC.\n\n"
      "usage: corankd [--flag=value]...\n\n"
      "Each flag can also be set in the environment: --max-request-bytes as CORANK_MAX_REQUEST_BYTES. A flag on the\n"
      "command line wins. Logs are JSON, one object a line, on stderr.\n\n"
      "Exit status: 0 after a graceful drain; 1 could not start, or requests were dropped at --drain-timeout;\n"
      "2 bad configuration; 3 device lost.\n\nFlags:\n";
  for (const FlagEntry& entry : Entries()) {
    const std::string value = entry.flag->DefaultValue();
    absl::StrAppend(&text, "  --", entry.Name(), "=", value.empty() ? "\"\"" : value, "\n      ", entry.flag->Help(),
                    "\n");
  }
  absl::StrAppend(&text, "  --help\n      Print this.\n  --version\n      Print the version.\n");
  return text;
}

}  // namespace corank
