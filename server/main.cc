// corankd: reads the configuration, starts the server, and ends it on a signal or when the device is lost.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/execute/engine_choice.h"
#include "server/flags.h"
#include "server/observe/clock.h"
#include "server/observe/log.h"
#include "server/server.h"

namespace corank {
namespace {

constexpr int kStartFailed = 1;
constexpr int kRequestsDropped = 1;
constexpr int kBadConfiguration = 2;
constexpr int kDeviceLost = 3;

// What wakes the main thread, from any thread.
class Event {
 public:
  Event() : fd_(eventfd(0, EFD_CLOEXEC)) {}
  ~Event() { close(fd_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Set() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));  // fails only once it is set already
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Until the server serves, gRPC's own words about a port are not logged: the error that names the port is.
std::atomic<const Logger*> library_logger{nullptr};

void LogOfGrpc(gpr_log_func_args* args) {
  const Logger* logger = library_logger.load();
  if (logger == nullptr) return;
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kWarning
                         : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  logger->Log(level, "grpc", {{"message", args->message}});
}

// Protobuf reports what it finds in requests; the caller's error has its own line.
void LogOfProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  const Logger* logger = library_logger.load();
  if (logger != nullptr) logger->Log(LogLevel::kDebug, "protobuf", {{"message", message}});
}

absl::Status WritePortsFile(const std::string& path, const Server& server) {
  std::string json = "{\"grpc\":";
  AppendJsonString(json, server.address());
  json += ",\"metrics\":";
  AppendJsonString(json, server.metrics_address());
  absl::StrAppend(&json, ",\"pid\":", getpid(), ",\"engine\":\"", EngineKindName(server.engine_info().kind), "\"}\n");
  const std::string temporary = absl::StrCat(path, ".", getpid());
  std::ofstream file(temporary, std::ios::trunc);
  file << json;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::UnavailableError(absl::StrCat("cannot write --ports-file ", path, ": ", reason));
  }
  return absl::OkStatus();
}

int StartFailed(const Logger& logger, const absl::Status& status) {
  logger.Log(LogLevel::kError, "start_failed", {{"message", std::string(status.message())}});
  return kStartFailed;
}

enum class Wake { kSignal, kEvent, kTimeout };

// Waits for a signal or an event, or until the deadline; a signal comes first.
Wake Wait(int signals, const Event& event, absl::Time deadline) {
  pollfd fds[] = {{signals, POLLIN, 0}, {event.fd(), POLLIN, 0}};
  for (;;) {
    const absl::Duration left = std::max(absl::ZeroDuration(), deadline - absl::Now());
    const int timeout_ms = deadline == absl::InfiniteFuture()
                               ? -1
                               : static_cast<int>(absl::ToInt64Milliseconds(left + absl::Milliseconds(1)));
    const int ready = poll(fds, 2, timeout_ms);
    if (ready == 0) return Wake::kTimeout;
    if (fds[0].revents != 0) return Wake::kSignal;
    if (ready > 0) return Wake::kEvent;
  }
}

int TakeSignal(int signals) {
  signalfd_siginfo info{};
  return read(signals, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : SIGTERM;
}

// The process ends here without destructors: a lane may be stuck in work that nobody waits for any more, and the
// thread that serves the metrics would be waited for up to 2 s.
[[noreturn]] void ExitAtOnce(int code) { std::_Exit(code); }

[[noreturn]] void DrainAndExit(Server* server, int signals, absl::Duration timeout, const Logger& logger) {
  logger.Log(LogLevel::kInfo, "draining", {{"calls", server->active_calls()}});
  const Event drained;
  server->Drain([&drained] { drained.Set(); });
  switch (Wait(signals, drained, absl::Now() + timeout)) {
    case Wake::kEvent:
      server->Stop();
      logger.Log(LogLevel::kInfo, "stopped", {});
      ExitAtOnce(EXIT_SUCCESS);
    case Wake::kSignal: {
      const int signal = TakeSignal(signals);
      logger.Log(LogLevel::kWarning, "killed", {{"signal", signal}, {"calls", server->active_calls()}});
      ExitAtOnce(128 + signal);
    }
    case Wake::kTimeout:
      break;
  }
  logger.Log(LogLevel::kError, "drain_timed_out", {{"calls", server->active_calls()}});
  server->AbortQueued();
  Wait(signals, drained, absl::Now() + absl::Seconds(1));  // for the answers to leave
  ExitAtOnce(kRequestsDropped);
}

int Serve(const Configuration& configuration, int signals) {
  static const Logger* const logger = new Logger(configuration.log_level);
  gpr_set_log_function(LogOfGrpc);
  google::protobuf::SetLogHandler(LogOfProtobuf);

  absl::StatusOr<ChosenEngine> engine = ChooseEngine(configuration.engine);
  if (!engine.ok()) return StartFailed(*logger, engine.status());

  const Event device_lost;
  Server::Options options = configuration.server;
  options.on_device_lost = [&device_lost] { device_lost.Set(); };
  absl::StatusOr<std::unique_ptr<Server>> started =
      Server::Start(options, *std::move(engine), &Clock::Steady(), logger);
  if (!started.ok()) return StartFailed(*logger, started.status());
  std::unique_ptr<Server> server = *std::move(started);
  library_logger.store(logger);
  if (!configuration.ports_file.empty()) {
    if (absl::Status written = WritePortsFile(configuration.ports_file, *server); !written.ok()) {
      return StartFailed(*logger, written);
    }
  }
  logger->Log(LogLevel::kInfo, "ready",
              {{"version", CORANK_VERSION},
               {"grpc", server->address()},
               {"metrics", server->metrics_address()},
               {"engine", EngineKindName(server->engine_info().kind)},
               {"device", server->engine_info().device},
               {"reason", server->engine_reason()},
               {"lanes", options.lanes},
               {"pid", static_cast<int>(getpid())}});

  if (Wait(signals, device_lost, absl::InfiniteFuture()) == Wake::kSignal) {
    const int signal = TakeSignal(signals);
    logger->Log(LogLevel::kInfo, "signal", {{"signal", signal}});
    DrainAndExit(server.get(), signals, configuration.drain_timeout, *logger);
  }
  const Event answered;
  server->Drain([&answered] { answered.Set(); });
  Wait(signals, answered, absl::Now() + absl::Seconds(1));
  ExitAtOnce(kDeviceLost);
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Configuration> configuration = ReadConfiguration(arguments);
  if (!configuration.ok()) {
    std::fprintf(stderr, "corankd: %s\n", std::string(configuration.status().message()).c_str());
    return kBadConfiguration;
  }
  if (configuration->help) {
    std::fputs(HelpText().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  if (configuration->version) {
    std::puts("corankd " CORANK_VERSION);
    return EXIT_SUCCESS;
  }
  // Before there are threads, so that none of them takes the signals.
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const int signals = signalfd(-1, &mask, SFD_CLOEXEC);
  return Serve(*configuration, signals);
}

}  // namespace
}  // namespace corank

int main(int argc, char** argv) { return corank::Main(std::vector<std::string>(argv + 1, argv + argc)); }
