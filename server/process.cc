#include "server/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "server/base/clock.h"
#include "server/config/configuration.h"
#include "server/memory/allocator.h"
#include "server/observe/log.h"
#include "server/run/engine_choice.h"
#include "server/server.h"
#include "version/version.h"

namespace corank {
namespace {

constexpr int kStartFailed = 1;
constexpr int kRequestsDropped = 1;
constexpr int kBadConfiguration = 2;
constexpr int kDeviceLost = 3;

// Time for answers to leave before the process ends.
constexpr absl::Duration kFarewell = absl::Seconds(1);

// Wakes the main thread, from any thread.
class Event {
 public:
  Event() : fd_(eventfd(0, EFD_CLOEXEC)) {}
  ~Event() { close(fd_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Set() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));  // fails only if it is set already
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::atomic<const Logger*> library_logger{nullptr};

// Logs Protobuf's errors in requests at debug level only, because the caller's error has its own line.
void LogOfProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  const Logger* logger = library_logger.load();
  if (logger != nullptr) logger->Log(LogLevel::kDebug, "protobuf", {{"message", message}});
}

absl::Status WritePortsFile(const std::string& path, const Server& server) {
  std::string json = "{\"grpc\":";
  AppendJsonString(json, server.address());
  json += ",\"metrics\":";
  AppendJsonString(json, server.metrics_address());
  if (!server.health_address().empty()) {
    json += ",\"health\":";
    AppendJsonString(json, server.health_address());
  }
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

Instant After(absl::Duration time) { return Clock::Steady().Now() + absl::ToChronoNanoseconds(time); }

enum class Wake { kSignal, kEvent, kTimeout };

// Waits for a signal or an event, or until the deadline. A signal takes precedence.
Wake Wait(int signals, const Event& event, Instant deadline) {
  pollfd fds[] = {{signals, POLLIN, 0}, {event.fd(), POLLIN, 0}};
  for (;;) {
    const Instant now = Clock::Steady().Now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(deadline, now) - now);
    const int timeout_ms = deadline == kForever ? -1 : static_cast<int>(left.count());
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

// Ends the process without destructors: they would wait for lanes that may be stuck in abandoned work, and up to 2 s
// for the thread that serves the metrics.
[[noreturn]] void ExitAtOnce(int code) { std::_Exit(code); }

// Says goodbye to callers. Returns kEvent once they have heard it. Stop has a thread of its own, because it waits for
// every call, even a stuck one.
Wake Stop(Server* server, int signals, Instant deadline) {
  static const Event stopped;
  std::thread([server] {
    server->Stop();
    stopped.Set();
  }).detach();
  return Wait(signals, stopped, deadline);
}

// When the device is lost, callers may still wait for calls on the loops of connections, and watchers of health for
// the news. If those threads do not return, the calls end with the connection.
[[noreturn]] void ExitWithoutDevice(Server* server, int signals) {
  constexpr absl::Duration kLook = absl::Milliseconds(5);
  const Instant end = After(kFarewell);
  const Event never;
  while (server->active_calls() > 0 && Clock::Steady().Now() < end) {
    if (Wait(signals, never, After(kLook)) == Wake::kSignal) ExitAtOnce(kDeviceLost);
  }
  Stop(server, signals, end);
  ExitAtOnce(kDeviceLost);
}

[[noreturn]] void ExitOnSecondSignal(const Server& server, int signals, const Logger& logger) {
  const int signal = TakeSignal(signals);
  logger.Log(LogLevel::kWarning, "killed", {{"signal", signal}, {"calls", server.active_calls()}});
  ExitAtOnce(128 + signal);
}

// `event`: the device is lost, or the drain is complete.
[[noreturn]] void DrainAndExit(Server* server, int signals, const Event& event, absl::Duration timeout,
                               const Logger& logger) {
  logger.Log(LogLevel::kInfo, "draining", {{"calls", server->active_calls()}});
  const Instant end = After(timeout);
  server->Drain([&event] { event.Set(); });
  Wake wake = Wait(signals, event, end);
  if (wake == Wake::kEvent && !server->device_lost()) {
    wake = Stop(server, signals, std::max(end, After(kFarewell)));
    if (wake == Wake::kEvent) {
      logger.Log(LogLevel::kInfo, "stopped", {});
      ExitAtOnce(EXIT_SUCCESS);
    }
  }
  if (wake == Wake::kSignal) ExitOnSecondSignal(*server, signals, logger);
  if (server->device_lost()) ExitWithoutDevice(server, signals);
  logger.Log(LogLevel::kError, "drain_timed_out", {{"calls", server->active_calls()}});
  std::thread([server] { server->AbortQueued(); }).detach();
  if (Wait(signals, event, After(kFarewell)) == Wake::kSignal) ExitOnSecondSignal(*server, signals, logger);
  ExitAtOnce(kRequestsDropped);
}

int Serve(const Configuration& configuration, int signals, const EngineWrapper& wrap) {
  static const Logger* const logger = new Logger(configuration.log_level, configuration.log_format);
  google::protobuf::SetLogHandler(LogOfProtobuf);
  for (const std::string& warning : configuration.warnings) {
    logger->Log(LogLevel::kWarning, "configuration", {{"message", warning}});
  }

  absl::StatusOr<std::vector<ChosenEngine>> engines = ChooseEngines(configuration.engine);
  if (!engines.ok()) return StartFailed(*logger, engines.status());
  if (wrap) {
    for (ChosenEngine& engine : *engines) engine.engine = wrap(std::move(engine.engine));
  }

  static const Event event;
  Server::Options options = configuration.server;
  options.on_device_lost = [] { event.Set(); };
  absl::StatusOr<std::unique_ptr<Server>> started =
      Server::Start(options, *std::move(engines), &Clock::Steady(), logger);
  if (!started.ok()) return StartFailed(*logger, started.status());
  std::unique_ptr<Server> server = *std::move(started);
  library_logger.store(logger);
  if (!configuration.ports_file.empty()) {
    if (absl::Status written = WritePortsFile(configuration.ports_file, *server); !written.ok()) {
      return StartFailed(*logger, written);
    }
  }
  logger->Log(LogLevel::kInfo, "ready",
              {{"version", Version()},
               {"commit", Commit()},
               {"grpc", server->address()},
               {"metrics", server->metrics_address()},
               {"health", server->health_address()},
               {"engine", EngineKindName(server->engine_info().kind)},
               {"device", server->engine_info().device},
               {"devices", server->devices().size()},
               {"reason", server->engine_reason()},
               {"lanes", options.lanes},
               {"pid", static_cast<int>(getpid())}});

  if (Wait(signals, event, kForever) == Wake::kSignal) {
    const int signal = TakeSignal(signals);
    logger->Log(LogLevel::kInfo, "signal", {{"signal", signal}});
    DrainAndExit(server.get(), signals, event, configuration.drain_timeout, *logger);
  }
  ExitWithoutDevice(server.get(), signals);
}

int BadConfiguration(const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    std::fprintf(stderr, "corankd: %s\n", std::string(line).c_str());
  }
  return kBadConfiguration;
}

int Help(const std::string& group) {
  const absl::StatusOr<std::string> text = HelpText(group);
  if (!text.ok()) return BadConfiguration(text.status());
  std::fputs(text->c_str(), stdout);
  return EXIT_SUCCESS;
}

}  // namespace

int RunCorankd(const std::vector<std::string>& arguments, const EngineWrapper& wrap) {
  using Action = Configuration::Action;
  BoundThreadCaches();
  // Debian builds Abseil for debugging: every lock of a mutex would record its order in one graph of the
  // process, under a lock of its own. The tests keep this check.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::StatusOr<Configuration> configuration = ReadConfiguration(arguments, environ);
  if (!configuration.ok()) return BadConfiguration(configuration.status());
  if (configuration->action == Action::kHelp) return Help(configuration->help_group);
  if (configuration->action == Action::kVersion) {
    std::puts(VersionLine("corankd").c_str());
    return EXIT_SUCCESS;
  }
  if (configuration->action == Action::kCheck) {
    for (const std::string& warning : configuration->warnings) std::fprintf(stderr, "corankd: %s\n", warning.c_str());
    std::fputs(SettingsText(*configuration).c_str(), stdout);
    return EXIT_SUCCESS;
  }
  // Before there are other threads, so that none of them receives the signals.
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const int signals = signalfd(-1, &mask, SFD_CLOEXEC);
  return Serve(*configuration, signals, wrap);
}

}  // namespace corank
