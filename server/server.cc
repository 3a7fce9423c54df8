#include "server/server.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/impl/codegen/grpc_types.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"
#include "server/addresses.h"
#include "server/execute/status_macros.h"
#include "server/respond/errors.h"

namespace corank {
namespace {

constexpr char kServiceName[] = "corank.v1.CorankService";
constexpr absl::Duration kRestartRetry = absl::Seconds(5);
// For what gRPC still has to flush once no operator call is left; open health watches end with it.
constexpr std::chrono::milliseconds kFlushTime(200);

// Long work shares no lease.
constexpr Batcher::Options kOneByOne{1, 0};

// A GPU runs a batch of small requests in the time of one: few lanes keep it busy, more would only take the batches
// apart. A CPU's cores are better used one by one.
AdmissionQueue::Options QueueOptions(const Server::Options& options, const EngineInfo& engine) {
  AdmissionQueue::Options queue = options.queue;
  if (engine.kind == EngineKind::kCuda) queue.small_takers = options.small_lanes;
  return queue;
}

absl::Status Draining() {
  return RetryLater(absl::StatusCode::kUnavailable, "the server drains and will take no more requests", kRestartRetry);
}

}  // namespace

Server::Server(const Options& options, ChosenEngine engine, const Clock* clock, const Logger* logger)
    : options_(options),
      engine_(std::move(engine)),
      clock_(clock),
      logger_(logger),
      host_pool_(HostPool::Create(engine_.engine.get(), options.host_pool)),
      regions_(options.regions, engine_.engine.get(), clock),
      arrays_(options.arrays, engine_.engine.get(), clock),
      queue_(QueueOptions(options, engine_info()), clock, &metrics_),
      long_queue_(options.long_queue, clock, &metrics_),
      batcher_(options.batch, &queue_),
      long_batcher_(kOneByOne, &long_queue_) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options, ChosenEngine engine, const Clock* clock,
                                                      const Logger* logger) {
  std::unique_ptr<Server> server(new Server(options, std::move(engine), clock, logger));
  CORANK_RETURN_IF_ERROR(server->StartMetrics());
  CORANK_RETURN_IF_ERROR(server->StartLanes());
  CORANK_RETURN_IF_ERROR(server->StartRpc());
  return server;
}

Server::~Server() { Stop(); }

absl::Status Server::StartMetrics() {
  const EngineInfo& info = engine_info();
  metrics_.SetEngine(EngineKindName(info.kind), info.device, CORANK_VERSION);
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(options_.metrics_listen));
  absl::StatusOr<std::unique_ptr<MetricsEndpoint>> endpoint =
      MetricsEndpoint::Create(options_.metrics_listen, metrics_);
  if (!endpoint.ok()) {
    const std::string reason = WhyNotListening(address);
    return reason.empty() ? endpoint.status()
                          : absl::UnavailableError(
                                absl::StrCat("cannot listen on ", options_.metrics_listen, " for metrics: ", reason));
  }
  metrics_endpoint_ = *std::move(endpoint);
  address.port = metrics_endpoint_->port();
  metrics_address_ = address.ToString();
  return absl::OkStatus();
}

absl::Status Server::StartLanes() {
  CORANK_ASSIGN_OR_RETURN(copier_, Copier::Create(engine_.engine.get()));
  LanePool::Options options;
  options.lanes = options_.lanes;
  options.on_device_lost = [this] { OnDeviceLost(); };
  CORANK_ASSIGN_OR_RETURN(lanes_,
                          LanePool::Create(options, engine_.engine.get(), &batcher_, clock_, &metrics_, logger_));
  queue_.SetDirectRunner(lanes_.get());
  options.lanes = options_.long_lanes;
  CORANK_ASSIGN_OR_RETURN(long_lanes_,
                          LanePool::Create(options, engine_.engine.get(), &long_batcher_, clock_, &metrics_, logger_));
  return absl::OkStatus();
}

absl::Status Server::StartRpc() {
  CORANK_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(options_.listen));
  CallEnvironment environment;
  environment.limits = options_.limits;
  environment.clock = clock_;
  environment.metrics = &metrics_;
  environment.logger = logger_;
  environment.queue = &queue_;
  environment.long_queue = &long_queue_;
  environment.long_bytes = options_.long_bytes;
  environment.in_pieces = options_.in_pieces.value_or(engine_info().kind == EngineKind::kCuda);
  environment.engine = engine_.engine.get();
  environment.streams = options_.streams.Derived(engine_info(), options_.long_lanes);
  environment.places = {&regions_, &arrays_, host_pool_.get()};
  environment.active_calls = &active_calls_;
  corank_service_ = std::make_unique<CorankServiceImpl>(environment, Info());
  memory_service_ = std::make_unique<MemoryServiceImpl>(
      MemoryEnvironment{environment.places, copier_.get(), logger_, options_.limits.max_chunk_bytes});

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &address.port);
  builder.RegisterService(corank_service_.get());
  builder.RegisterService(memory_service_.get());
  // A message over the limit is answered with the limit's name; one far over it is cut off before it is buffered.
  const int64_t hard_limit = std::min<int64_t>(2 * options_.limits.max_request_bytes, std::numeric_limits<int>::max());
  builder.SetMaxReceiveMessageSize(static_cast<int>(hard_limit));
  builder.SetMaxSendMessageSize(-1);
  // Two servers on one port would each get some of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A caller that is gone without a word must not hold a lane, a region or a part of a job until its deadline.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  // Reflection alone uses the synchronous API.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  rpc_ = builder.BuildAndStart();
  if (rpc_ == nullptr) {
    const std::string reason = WhyNotListening(address);
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options_.listen, ": ", reason.empty() ? "gRPC does not start" : reason));
  }
  rpc_->GetHealthCheckService()->SetServingStatus(kServiceName, true);
  address_ = address.ToString();
  return absl::OkStatus();
}

v1::GetServerInfoResponse Server::Info() const {
  v1::GetServerInfoResponse info;
  info.set_version(CORANK_VERSION);
  info.set_engine(engine_info().kind == EngineKind::kCuda ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  info.set_device(engine_info().device);
  info.set_engine_reason(engine_.reason);
  info.set_device_memory_bytes(engine_info().memory_bytes);
  info.set_lanes(options_.lanes);
  v1::ServerLimits* limits = info.mutable_limits();
  limits->set_max_request_bytes(options_.limits.max_request_bytes);
  limits->set_max_response_bytes(options_.limits.max_response_bytes);
  limits->set_max_queued_requests(static_cast<int32_t>(options_.queue.max_requests));
  limits->set_max_queued_bytes(options_.queue.max_bytes);
  limits->set_max_merge_inputs(kMaxMergeInputs);
  limits->set_max_chunk_bytes(options_.limits.max_chunk_bytes);
  limits->set_max_parts(kMaxParts);
  limits->set_stream_window_bytes(options_.streams.window_bytes);
  limits->set_max_device_bytes(options_.streams.Derived(engine_info(), options_.long_lanes).max_device_bytes);
  info.add_places("inline");
  info.add_places("stream");
  if (!options_.regions.shared_memory_prefixes.empty()) info.add_places("shared_memory");
  for (const std::string& prefix : options_.regions.shared_memory_prefixes) info.add_shared_memory_prefixes(prefix);
  if (options_.regions.cuda_ipc) info.add_places("cuda_ipc");
  if (arrays_.is_on()) info.add_places("stored");
  info.set_device_uuid(engine_info().device_uuid);
  return info;
}

void Server::OnDeviceLost() {
  rpc_->GetHealthCheckService()->SetServingStatus(false);
  for (AdmissionQueue* queue : {&queue_, &long_queue_}) {
    queue->Abort(RetryLater(absl::StatusCode::kUnavailable, "the server lost its device", kRestartRetry));
  }
  if (options_.on_device_lost) options_.on_device_lost();
}

void Server::Drain(std::function<void()> on_drained) {
  rpc_->GetHealthCheckService()->SetServingStatus(false);
  queue_.Close(Draining());
  long_queue_.Close(Draining());
  active_calls_.NotifyWhenNone(std::move(on_drained));
}

void Server::AbortQueued() {
  queue_.Abort(Draining());
  long_queue_.Abort(Draining());
}

void Server::Stop() {
  AbortQueued();
  if (rpc_ == nullptr) return;
  rpc_->GetHealthCheckService()->SetServingStatus(false);
  rpc_->Shutdown(std::chrono::system_clock::now() + kFlushTime);
  rpc_->Wait();
}

}  // namespace corank
