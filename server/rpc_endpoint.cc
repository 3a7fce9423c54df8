#include "server/rpc_endpoint.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpc/impl/codegen/grpc_types.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/impl/server_builder_option.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Descriptors for everything except connections: files, the metrics endpoint, GPUs, shared memory.
constexpr int64_t kOtherDescriptors = 256;
// Time for callers to receive their answers after the last call has ended. For both ports together, it is shorter than
// the time that a process has to end.
constexpr absl::Duration kSendPatience = absl::Milliseconds(400);

// Once linked, reflection is part of every server of the process that does not remove it.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override { plugins->clear(); }
};

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

void SetLimits(const ConnectionLimits& limits, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(ToInt(limits.max_message_bytes));
  builder->SetMaxSendMessageSize(-1);
  // gRPC decompresses a message without a limit before it checks the size: half a megabyte becomes half a gigabyte.
  // Callers that compress get UNIMPLEMENTED, which says that compression is switched off.
  for (const grpc_compression_algorithm inflated : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder->SetCompressionAlgorithmSupportStatus(inflated, false);
  }
  grpc::ResourceQuota quota("corank");
  quota.Resize(static_cast<size_t>(BufferedBytes(limits)));
  builder->SetResourceQuota(quota);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.max_streams);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, ToInt(limits.max_header_bytes));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, ToInt(limits.handshake_timeout.count()));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              ToInt(limits.min_ping_interval.count()));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // A caller that disappears silently must not hold a lane, a region or a part of a job until its deadline.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ToInt(limits.keepalive_interval.count()));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ToInt(limits.keepalive_timeout.count()));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  // Handshakes and answered pings are not calls: without these limits, an idle peer occupies its place forever.
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ToInt(limits.max_idle.count()));
  if (limits.max_age.count() > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToInt(limits.max_age.count()));
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ToInt(limits.age_grace.count()));
  }
}

}  // namespace

int64_t BufferedBytes(const ConnectionLimits& limits) {
  constexpr int64_t kLeast = int64_t{256} << 20;
  return limits.max_buffered_bytes > 0 ? limits.max_buffered_bytes : std::max(kLeast, 4 * limits.max_message_bytes);
}

absl::StatusOr<std::unique_ptr<RpcEndpoint>> RpcEndpoint::Start(const Options& options,
                                                                const std::vector<grpc::Service*>& services,
                                                                const Logger* logger) {
  Listener::Options listening;
  listening.max_connections = MostConnections(options.limits.max_connections, *logger);
  listening.user_timeout_ms = ToInt(options.limits.keepalive_timeout.count());
  listening.oldest_gives_way = options.limits.oldest_gives_way;
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::Create(options.listen, listening, logger));
  std::unique_ptr<RpcEndpoint> endpoint(new RpcEndpoint(std::move(listener), options.credentials));

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  using ConnectionType = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  endpoint->acceptor_ =
      builder.experimental().AddExternalConnectionAcceptor(ConnectionType::FROM_FD, options.credentials);
  for (grpc::Service* service : services) builder.RegisterService(service);
  SetLimits(options.limits, &builder);
  if (!options.reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  // Only reflection uses the synchronous API.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  endpoint->server_ = builder.BuildAndStart();
  if (endpoint->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", endpoint->address(), ": gRPC did not start"));
  }
  endpoint->listener_->Start([acceptor = endpoint->acceptor_.get()](int listener_fd, int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_fd;
    connection.fd = fd;
    acceptor->HandleNewConnection(&connection);
  });
  return endpoint;
}

RpcEndpoint::~RpcEndpoint() { Stop(std::chrono::milliseconds(0)); }

void RpcEndpoint::Stop(std::chrono::milliseconds flush) {
  listener_->Stop();
  if (server_ == nullptr) return;
  // gRPC's shutdown reports CANCELLED, which clients do not retry, to calls whose message is still arriving. So it runs
  // only when no connection is left to report on.
  std::this_thread::sleep_for(flush);
  // Data that the system has not sent by then is lost if the connection ends with unread input.
  listener_->AwaitSent(kSendPatience);
  listener_->EndConnections();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace corank
