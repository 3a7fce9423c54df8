#include "server/rpc_endpoint.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Descriptors for everything except connections: files, the metrics endpoint, GPUs, shared memory.
constexpr int64_t kOtherDescriptors = 256;
// Time for callers to receive their answers after the last call has ended. For both ports together, it is shorter than
// the time that a process has to end.
constexpr std::chrono::milliseconds kFarewell(400);
constexpr std::chrono::seconds kLogPause(10);

int ToInt(int64_t value) { return static_cast<int>(std::min<int64_t>(value, std::numeric_limits<int>::max())); }

// The number of connections that the system allows, as far as this process may raise it.
int MostConnections(int wanted, const Logger& logger) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t needed = static_cast<rlim_t>(wanted) + kOtherDescriptors;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= needed) return wanted;
  const int most = std::max(16, ToInt(static_cast<int64_t>(files.rlim_cur) - kOtherDescriptors));
  logger.Log(
      LogLevel::kWarning, "connections_limited",
      {{"message", absl::StrCat("the file limit of this process (ulimit -n) is ", files.rlim_cur, ", so at most ", most,
                                " connections can be open instead of --max-connections ", wanted)}});
  return std::min(most, wanted);
}

}  // namespace

int64_t BufferedBytes(const ConnectionLimits& limits) {
  constexpr int64_t kLeast = int64_t{256} << 20;
  return limits.max_buffered_bytes > 0 ? limits.max_buffered_bytes : std::max(kLeast, 4 * limits.max_message_bytes);
}

const CallStatus RpcEndpoint::kStopping = {wire::kUnavailable, "the server is shutting down", ""};

RpcEndpoint::RpcEndpoint(const Options& options, wire::Router router, std::unique_ptr<Listener> listener,
                         int max_connections, const Logger* logger)
    : logger_(*logger),
      tls_(options.tls),
      max_connections_(max_connections),
      oldest_gives_way_(options.limits.oldest_gives_way),
      server_(options.loops, options.limits, std::move(router),
              [logger, on_failed = options.on_failed_handshake](const wire::Peer& peer) {
                constexpr char kEvent[] = "handshake_failed";
                if (const auto left_out = logger->TakeTurn(LogLevel::kInfo, kEvent)) {
                  logger->LogInTurn(LogLevel::kInfo, kEvent, {{"peer", peer.address}}, *left_out);
                }
                if (on_failed) on_failed();
              }),
      listener_(std::move(listener)) {}

absl::StatusOr<std::unique_ptr<RpcEndpoint>> RpcEndpoint::Start(const Options& options, wire::Router router,
                                                                const Logger* logger) {
  const int most = MostConnections(options.limits.max_connections, *logger);
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener,
                          Listener::Create(options.listen, ToInt(options.limits.keepalive_timeout.count()), logger));
  std::unique_ptr<RpcEndpoint> endpoint(new RpcEndpoint(options, std::move(router), std::move(listener), most, logger));
  if (options.tls != nullptr && endpoint->Tls() == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", endpoint->address(), ": TLS did not start"));
  }
  endpoint->listener_->Start([raw = endpoint.get()](int fd, std::string peer) { raw->Take(fd, std::move(peer)); });
  return endpoint;
}

RpcEndpoint::~RpcEndpoint() { Stop(std::chrono::milliseconds(0)); }

void RpcEndpoint::Take(int fd, std::string peer) {
  if (open_connections() >= max_connections_) {
    ++refused_;
    if (!oldest_gives_way_) {
      close(fd);
      return LogRefusal(absl::StrCat("all ", max_connections_, " connections of --max-connections are open"));
    }
    server_.CloseOldest();
    LogRefusal(absl::StrCat("all ", max_connections_, " connections are open; the oldest makes room for a new one"));
  }
  server_.Serve(fd, std::move(peer), Tls());
}

std::shared_ptr<const wire::TlsContext> RpcEndpoint::Tls() {
  if (tls_ == nullptr) return nullptr;
  std::shared_ptr<const TlsMaterial> material = tls_->material();
  if (material == material_) return context_;
  auto made = wire::TlsContext::Create(material->certificate, material->key, material->client_ca);
  material_ = std::move(material);
  if (made.ok()) {
    context_ = *std::move(made);
  } else {
    logger_.Log(LogLevel::kError, "tls_kept", {{"message", std::string(made.status().message())}});
  }
  return context_;
}

void RpcEndpoint::LogRefusal(absl::string_view reason) {
  const Instant now = std::chrono::steady_clock::now();
  if (now < next_log_) return;
  next_log_ = now + kLogPause;
  logger_.Log(LogLevel::kWarning, "connections_refused",
              {{"listen", address()}, {"message", std::string(reason)}, {"refused_so_far", refused_connections()}});
}

void RpcEndpoint::Stop(std::chrono::milliseconds flush, const CallStatus& status) {
  listener_->Stop();
  server_.Stop(flush, status, flush.count() > 0 ? kFarewell : flush);
}

}  // namespace corank
