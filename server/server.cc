#include "server/server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_engine.h"
#include "kernels/engine/memory_limit.h"
#include "server/base/cores.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/kserve/inference_service.h"
#include "server/rpc/corank_service.h"
#include "server/rpc/memory_service.h"
#include "server/rpc/methods.h"
#include "server/rpc/reflection.h"
#include "version/version.h"

namespace corank {
namespace {

constexpr absl::Duration kRestartRetry = absl::Seconds(5);
// Rare enough that bursty load keeps its buffers: pinning memory again takes longer than filling it.
constexpr absl::Duration kHousekeeping = absl::Minutes(1);
// Time for last messages: ends of health watches, and refusals of new calls.
constexpr std::chrono::milliseconds kFlushTime(20);

// Anybody may connect here. Probes arrive one at a time, and their messages name a service. Peers that stay connected
// must not shut them out.
ConnectionLimits HealthLimits() {
  ConnectionLimits limits;
  limits.max_connections = 64;
  limits.oldest_gives_way = true;
  limits.max_streams = 16;
  limits.max_header_bytes = 8 << 10;
  limits.max_message_bytes = 4 << 10;
  limits.max_buffered_bytes = 16 << 20;
  limits.handshake_timeout = std::chrono::seconds(5);
  limits.max_idle = std::chrono::minutes(1);
  limits.max_age = std::chrono::minutes(10);
  limits.write_timeout = std::chrono::minutes(1);
  return limits;
}

// A GPU runs a batch of small requests in the time of one. A few lanes keep it busy; more would only split the batches.
// A CPU's cores are better used individually.
Scheduler::Options QueueOptions(const Server::Options& options, const EngineInfo& engine) {
  Scheduler::Options queue = options.queue;
  queue.leaves_a_taker = true;
  if (engine.kind == EngineKind::kCuda) queue.small_takers = options.small_lanes;
  return queue;
}

Scheduler::Options LongQueueOptions(const Server::Options& options) {
  Scheduler::Options queue = options.long_queue;
  queue.leaves_a_taker = true;
  queue.batch_requests = 1;  // long work never shares a lane
  return queue;
}

ArrayStore::Options StoreOptions(const Server::Options& options) {
  ArrayStore::Options arrays = options.arrays;
  arrays.most_shards = options.devices_per_request;
  return arrays;
}

absl::Status Draining() {
  return RetryLater(v1::ERROR_REASON_DRAINING, "the server is shutting down and takes no more requests", kRestartRetry);
}

}  // namespace

ConnectionLimits Server::MainLimits(const Options& options) {
  ConnectionLimits limits = options.connections;
  limits.max_message_bytes = 2 * options.limits.max_request_bytes;
  limits.read_timeout = limits.write_timeout = absl::ToChronoMilliseconds(options.streams.idle_timeout);
  constexpr int64_t kUnreadShare = 256;  // of the pool, so that unread answers never starve callers of it
  limits.max_unread_answer_bytes = std::max(limits.max_unread_answer_bytes, options.host_pool.max_bytes / kUnreadShare);
  return limits;
}

MemoryPlan Server::PlanMemory(const Options& options, const ServerDevices& devices) {
  MemoryPlan::Needs needs;
  needs.host_bytes = HostMemoryBytes();
  needs.engine = devices.engine(0).info().kind;
  for (int i = 0; i < devices.size(); ++i) {
    needs.device_bytes.push_back(devices.engine(i).info().memory_bytes);
    needs.relay_bytes += devices.engine(i).info().relay_bytes;
  }
  needs.long_lanes = options.long_lanes;
  needs.host_pool_bytes = options.host_pool.max_bytes;
  needs.buffered_bytes = BufferedBytes(MainLimits(options));
  needs.kept_bytes = options.arrays.max_bytes;
  needs.device_budget_bytes = options.device_budget_bytes;
  needs.streams = options.streams;
  return MemoryPlan::Make(needs);
}

Server::Server(const Options& options, std::vector<ChosenEngine> engines, const Clock* clock, const Logger* logger)
    : options_(options),
      devices_(std::move(engines), logger,
               {[this](int device) { OnDeviceLost(device); }, [this] { OnDevicesChanged(); }}),
      clock_(clock),
      started_(clock->Now()),
      logger_(logger),
      plan_(PlanMemory(options, devices_)),
      buffered_(Budget::Create(BufferedBytes(MainLimits(options)))),
      timers_(std::make_shared<wire::Loop>()),
      host_pool_(HostPool::Create(&devices_.set(), options.host_pool)),
      run_buffers_(RunBuffers::Create(
          {plan_.budgets.host_limit_bytes, options.max_kept_run_bytes.value_or(plan_.budgets.host_limit_bytes)})),
      regions_(options.regions, &devices_.set(), clock),
      arrays_(StoreOptions(options), &devices_.set(), clock),
      device_memory_(plan_.budgets),
      queue_(QueueOptions(options, engine_info()), clock, &metrics_, &device_memory_, &devices_.set()),
      long_queue_(LongQueueOptions(options), clock, &metrics_, &device_memory_, &devices_.set()),
      helpers_(options.helpers.value_or(Helpers::CountFor(UsableCores()))) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options, std::vector<ChosenEngine> engines,
                                                      const Clock* clock, const Logger* logger) {
  if (engines.empty() || engines.size() > static_cast<size_t>(DeviceSet::kMaxDevices)) {
    return absl::InvalidArgumentError(absl::StrCat("a server works on 1 to ", DeviceSet::kMaxDevices, " devices, not ",
                                                   engines.size(), "; choose them with --devices"));
  }
  std::unique_ptr<Server> server(new Server(options, std::move(engines), clock, logger));
  const MemoryPlan& plan = server->plan_;
  if (!plan.error.empty()) return absl::InvalidArgumentError(plan.error);
  for (const std::string& warning : plan.warnings) {
    logger->Log(LogLevel::kWarning, "memory_short", {{"message", warning}});
  }
  CORANK_ASSIGN_OR_RETURN(server->security_, Security::Create(options.security, logger));
  CORANK_RETURN_IF_ERROR(server->StartMetrics());
  CORANK_RETURN_IF_ERROR(server->StartLanes());
  CORANK_RETURN_IF_ERROR(server->devices_.MakeCanaries(options.canary));
  CORANK_RETURN_IF_ERROR(server->StartRpc());
  server->metrics_.OnScrape([server = server.get()] { server->ObserveCalls(); });
  server->devices_.StartCanaries();
  server->housekeeper_ = std::make_unique<Housekeeper>(
      server->host_pool_.get(), server->run_buffers_.get(), &server->regions_, &server->arrays_,
      [server = server.get()] { server->TrimLanes(LanePool::Idle::kForAWhile); }, kHousekeeping);
  return server;
}

Server::~Server() {
  housekeeper_.reset();
  devices_.StopCanaries();
  Stop();
  metrics_endpoint_.reset();  // scrapes read members that are destroyed next
  timers_->Stop();
  {
    absl::MutexLock lock(&lanes_mutex_);
    lanes_end_ = true;
  }
  absl::MutexLock trimmed(&trim_mutex_);
}

absl::Status Server::StartMetrics() {
  const EngineInfo& info = engine_info();
  for (int i = 0; i < devices_.size(); ++i) {
    metrics_.SetEngine(EngineKindName(info.kind), devices_.engine(i).info().device, Version());
  }
  metrics_.SetLanes(LaneKind::kShort, options_.lanes * devices_.size());
  metrics_.SetLanes(LaneKind::kLong, options_.long_lanes * devices_.size());
  metrics_.OnScrape([this] {
    metrics_.SetMemory("host_pool", host_pool_->bytes_in_use(), options_.host_pool.max_bytes);
    metrics_.SetMemory("host_pool_promised", host_pool_->promised_bytes(), options_.host_pool.max_bytes);
    metrics_.SetMemory("messages", buffered_->used(), buffered_->limit());
    metrics_.SetHostPoolKept(host_pool_->kept_bytes() + run_buffers_->kept_bytes());
    ObserveQueues();
    ObserveDevices();
  });
  if (!info.device_uuid.empty()) WatchDevices();
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(const ListenAddress address, ListenAddress::Parse(options_.metrics_listen));
  CORANK_ASSIGN_OR_RETURN(metrics_endpoint_, MetricsEndpoint::Start(
                                                 address, metrics_, [this] { return Status(); }, logger_));
  metrics_address_ = metrics_endpoint_->address();
  return absl::OkStatus();
}

void Server::ObserveQueues() {
  constexpr const char* kLines[kTaskPriorities] = {"high", "normal", "low"};
  for (int i = 0; i < kTaskPriorities; ++i) {
    const auto priority = static_cast<TaskPriority>(i);
    metrics_.SetQueueAge(kLines[i], queue_.AgeSeconds(priority));
    metrics_.SetQueueAge(absl::StrCat("long_", kLines[i]), long_queue_.AgeSeconds(priority));
  }
  for (int i = 0; i < kOperatorCount; ++i) {
    const auto op = static_cast<Operator>(i);
    const double rate = queue_.EstimatedBytesPerSecond(op);
    if (rate > 0) metrics_.SetEstimatedRate(op, rate);
  }
}

void Server::ObserveDevices() {
  int64_t work_used = 0, work_limit = 0, kept_limit = 0;
  for (int i = 0; i < devices_.size(); ++i) {
    const int ordinal = devices_.ordinal(i);
    const int64_t used = device_memory_.used_bytes(i), limit = device_memory_.limit_bytes(i);
    metrics_.SetDeviceUp(ordinal, devices_.is_good(i));
    metrics_.SetDeviceMemory(ordinal, "device_work", used, limit);
    metrics_.SetDeviceMemory(ordinal, "kept_arrays", arrays_.used_bytes(i), options_.arrays.max_bytes);
    const KeptMemory kept = devices_.engine(i).kept(), most = plan_.lanes[static_cast<size_t>(i)];
    metrics_.SetKeptByLanes(ordinal, "device", kept.device_bytes, most.device_bytes);
    metrics_.SetKeptByLanes(ordinal, "pinned", kept.host_bytes, most.host_bytes);
    if (!devices_.set().is_live(i)) continue;
    work_used += used;
    work_limit += limit;
    kept_limit += options_.arrays.max_bytes;
  }
  metrics_.SetMemory("device_work", work_used, work_limit);
  metrics_.SetMemory("host_work", device_memory_.host_used_bytes(), device_memory_.host_limit_bytes());
  metrics_.SetMemory("kept_arrays", arrays_.used_bytes(), kept_limit);
}

void Server::ObserveCalls() {
  OpenItems open;
  open.connections = rpc_->open_connections();
  open.calls = active_calls_.count();
  const StreamedJobs streamed = jobs();
  open.jobs = streamed.jobs;
  open.job_bytes = streamed.memory_in_use;
  open.regions = regions_.region_count();
  open.leases = regions_.lease_count();
  metrics_.SetOpen(open);
  const auto show_port = [this](absl::string_view port, const RpcEndpoint& endpoint) {
    metrics_.SetConnections(port, endpoint.max_connections(), endpoint.refused_connections());
  };
  show_port("main", *rpc_);
  if (health_rpc_ != nullptr) show_port("health", *health_rpc_);
  if (const TlsCredentials* tls = security_->tls(); tls != nullptr) {
    metrics_.SetCertificateExpiry(absl::ToDoubleSeconds(tls->expiry() - absl::UnixEpoch()));
    metrics_.SetCredentialsCurrent("tls", tls->is_current());
  }
  if (!options_.security.tokens_file.empty()) {
    metrics_.SetCredentialsCurrent("tokens", security_->authenticator()->is_current());
  }
}

void Server::WatchDevices() {
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load();
  devices_.ReadLinks(nvml.ok() ? nvml->get() : nullptr);
  if (!nvml.ok()) {
    logger_->Log(LogLevel::kInfo, "no_device_metrics", {{"message", std::string(nvml.status().message())}});
    return;
  }
  nvml_ = *std::move(nvml);
  metrics_.OnScrape([this] {
    for (int i = 0; i < devices_.size(); ++i) {
      metrics_.SetDevice(devices_.ordinal(i), nvml_->Read(devices_.engine(i).info().device_uuid));
    }
  });
}

absl::Status Server::StartLanes() {
  CORANK_RETURN_IF_ERROR(devices_.MakeCopiers());
  for (int i = 0; i < devices_.size(); ++i) {
    LanePool::Options options;
    options.device = i;
    options.ordinal = devices_.ordinal(i);
    options.devices = &devices_.set();
    options.watch = &devices_.watch(i);
    options.free_idle = [this] { TrimLanes(LanePool::Idle::kNow); };
    devices_.engine(i).LimitKept(plan_.lanes[static_cast<size_t>(i)]);
    const auto start = [&](LaneKind kind, int count, WorkSource* source) -> absl::StatusOr<LanePool*> {
      options.kind = kind;
      options.lanes = count;
      options.spares = kind == LaneKind::kLong ? options_.spare_lanes : 0;
      CORANK_ASSIGN_OR_RETURN(std::unique_ptr<LanePool> lanes,
                              LanePool::Create(options, &devices_.engine(i), source, clock_, &metrics_, logger_));
      absl::MutexLock lock(&lanes_mutex_);
      return lanes_.emplace_back(i, std::move(lanes)).second.get();
    };
    CORANK_ASSIGN_OR_RETURN(LanePool* const lanes, start(LaneKind::kShort, options_.lanes, &queue_));
    queue_.SetDirectRunner([lanes](std::unique_ptr<Task> task) { lanes->RunDirectly(std::move(task)); }, i);
    CORANK_RETURN_IF_ERROR(start(LaneKind::kLong, options_.long_lanes, &long_queue_).status());
  }
  return options_.host_bytes > 0 ? StartHostLanes() : absl::OkStatus();
}

absl::Status Server::StartHostLanes() {
  Engine* engine = &devices_.engine(0);  // one CPU engine per process, because each limits the threads of the others
  if (engine->info().kind != EngineKind::kCpu) {
    CpuEngineOptions one_thread;
    one_thread.threads = 1;
    CORANK_ASSIGN_OR_RETURN(host_engine_, CreateCpuEngine(one_thread));
    engine = host_engine_.get();
  }
  LanePool::Options options;
  options.lanes = 0;
  options.on_host = true;
  CORANK_ASSIGN_OR_RETURN(host_lanes_,
                          LanePool::Create(options, engine, /*source=*/nullptr, clock_, &metrics_, logger_));
  queue_.SetHostRunner(
      [lanes = host_lanes_.get()](std::unique_ptr<Task> task) { lanes->RunDirectly(std::move(task)); });
  return absl::OkStatus();
}

absl::Status Server::StartRpc() {
  CallEnvironment environment;
  environment.limits = options_.limits;
  environment.clock = clock_;
  environment.metrics = &metrics_;
  environment.logger = logger_;
  environment.queue = &queue_;
  environment.long_queue = &long_queue_;
  environment.planner.host_bytes = options_.host_bytes;
  environment.planner.long_bytes = options_.long_bytes;
  environment.planner.most_shards = options_.devices_per_request;
  environment.planner.shard_bytes = options_.shard_bytes;
  environment.planner.in_pieces = options_.in_pieces.value_or(engine_info().kind == EngineKind::kCuda);
  environment.planner.max_host_bytes = plan_.streams.max_host_bytes;
  environment.planner.max_device_bytes = plan_.streams.max_device_bytes;
  environment.streams = plan_.streams;
  environment.places = {&regions_, &arrays_, host_pool_.get(), run_buffers_.get(), &devices_.set(), &helpers_};
  environment.active_calls = &active_calls_;
  environment.buffered = buffered_.get();
  LargeCalls::Options large;
  large.most_turns = 2 * Loops();
  large.later = [timers = timers_.get()](std::chrono::nanoseconds time, std::function<void()> task) {
    timers->Post([timers, at = Clock::Steady().Now() + time, task = std::move(task)]() mutable {
      timers->At(at, std::move(task));
    });
  };
  large_calls_ = std::make_unique<LargeCalls>(clock_, std::move(large));
  environment.large_calls = large_calls_.get();
  if (options_.tenant_max_rate > 0) rates_ = std::make_unique<TenantRates>(options_.tenant_max_rate);
  environment.rates = rates_.get();
  environment.timers = timers_.get();
  environment.gate = &gate_;
  environment.slow_request_ns = options_.slow_request.count();
  environment.authenticator = security_->authenticator();
  corank_service_ = std::make_unique<CorankServiceImpl>(environment, Info());
  const MemoryEnvironment memory{environment.places,
                                 logger_,
                                 options_.limits.max_chunk_bytes,
                                 &active_calls_,
                                 &gate_,
                                 &metrics_,
                                 security_->authenticator(),
                                 buffered_.get(),
                                 options_.memory_call_time,
                                 clock_,
                                 rates_.get()};
  memory_service_ = std::make_unique<MemoryServiceImpl>(memory);
  if (options_.kserve) inference_service_ = MakeInferenceService(environment, memory, &health_, Info());
  {
    absl::MutexLock lock(&health_mutex_);
    serves_ = true;
  }
  ShowHealth();
  return StartEndpoints();
}

absl::Status Server::StartEndpoints() {
  RpcEndpoint::Options main;
  CORANK_ASSIGN_OR_RETURN(main.listen, ListenAddress::Parse(options_.listen));
  main.tls = security_->tls();
  main.limits = MainLimits(options_);
  main.loops = Loops();
  main.on_failed_handshake = [this] { metrics_.CountFailedHandshake(); };
  Methods methods;
  corank_service_->AddTo(&methods);
  memory_service_->AddTo(&methods);
  AddHealth(&health_, &methods);
  std::vector<std::string> services = {"corank.v1.CorankService", "corank.v1.MemoryService", "grpc.health.v1.Health"};
  if (inference_service_ != nullptr) {
    inference_service_->AddTo(&methods);
    services.emplace_back("inference.GRPCInferenceService");
  }
  // Reflection takes no credentials, and would show the contract to callers without any.
  if (security_->authenticator() == nullptr) AddReflection(services, &methods);
  CORANK_ASSIGN_OR_RETURN(rpc_, RpcEndpoint::Start(main, methods.router(), logger_));
  if (options_.health_listen.empty()) return absl::OkStatus();
  // On a loop of its own, which answers whatever the others do.
  RpcEndpoint::Options health;
  CORANK_ASSIGN_OR_RETURN(health.listen, ListenAddress::Parse(options_.health_listen));
  health.limits = HealthLimits();
  Methods health_methods;
  AddHealth(&health_, &health_methods);
  CORANK_ASSIGN_OR_RETURN(health_rpc_, RpcEndpoint::Start(health, health_methods.router(), logger_));
  return absl::OkStatus();
}

// Small requests run on the loops, so one per core is of use; and one more, so that none waits for a request that runs.
int Server::Loops() const {
  constexpr int kMost = 32;
  return options_.loops.value_or(std::clamp(UsableCores(), 2, kMost));
}

void Server::ShowHealth() {
  absl::MutexLock lock(&health_mutex_);
  bool any_works = false;
  for (int i = 0; i < devices_.size(); ++i) {
    health_.Set(devices_.HealthService(i), devices_.is_good(i));
    any_works = any_works || devices_.is_good(i);
  }
  health_.Set("live", true);
  for (const char* service : {"", "ready", "corank.v1.CorankService", "corank.v1.MemoryService"}) {
    health_.Set(service, serves_ && any_works);
  }
  if (options_.kserve) health_.Set("inference.GRPCInferenceService", serves_ && any_works);
}

void Server::Refuse(const absl::Status& refusal, bool also_running) {
  const Refusal reason = device_lost() ? Refusal::kDeviceLost : Refusal::kDraining;
  gate_.Close(refusal);
  for (Scheduler* queue : {&queue_, &long_queue_}) {
    if (also_running) {
      queue->Abort(refusal, reason);
    } else {
      queue->Close(refusal, reason);
    }
  }
  if (corank_service_ == nullptr) return;
  if (also_running) {
    corank_service_->jobs().Abort(refusal, reason);
  } else {
    corank_service_->jobs().Close(refusal, reason);
  }
}

// The lanes may never return, because a call to a hanging device does not.
void Server::AbandonLanes(int device) {
  absl::MutexLock lock(&lanes_mutex_);
  for (const auto& [of, lanes] : lanes_) {
    lanes->Abandon(device, devices_.watch(device).Lost());
  }
}

void Server::TrimLanes(LanePool::Idle idle) {
  if (!trim_mutex_.TryLock()) return;  // who trims may wait for a hanging device
  std::vector<LanePool*> pools;
  {
    absl::MutexLock lock(&lanes_mutex_);
    for (const auto& [of, lanes] : lanes_) pools.push_back(lanes.get());
    if (host_lanes_ != nullptr) pools.push_back(host_lanes_.get());
    if (lanes_end_) pools.clear();
  }
  for (LanePool* const lanes : pools) lanes->Trim(idle);
  trim_mutex_.Unlock();
}

void Server::OnDeviceLost(int device) {
  ShowHealth();
  AbandonLanes(device);
  if (devices_.all_lost()) {
    if (!all_lost_.exchange(true) && options_.on_device_lost) options_.on_device_lost();
    Refuse(DeviceLost(), /*also_running=*/true);
    return;
  }
  regions_.ForgetDevice(device);
  arrays_.ForgetDevice(device);
  queue_.DevicesChanged();
  long_queue_.DevicesChanged();
}

void Server::OnDevicesChanged() {
  ShowHealth();
  queue_.DevicesChanged();
  long_queue_.DevicesChanged();
}

void Server::Drain(std::function<void()> on_drained) {
  {
    absl::MutexLock lock(&health_mutex_);
    serves_ = false;
  }
  ShowHealth();
  Refuse(device_lost() ? DeviceLost() : Draining(), /*also_running=*/false);
  active_calls_.NotifyWhenNone(std::move(on_drained));
}

StreamedJobs Server::jobs() const {
  const ExecuteJobs& jobs = corank_service_->jobs();
  return {jobs.jobs(), jobs.joining_jobs(), jobs.memory_in_use()};
}

void Server::AbortQueued() { Refuse(device_lost() ? DeviceLost() : Draining(), /*also_running=*/true); }

void Server::Stop() {
  AbortQueued();
  if (rpc_ == nullptr) return;
  {
    absl::MutexLock lock(&health_mutex_);
    serves_ = false;
  }
  ShowHealth();
  health_.EndWatches();
  const CallStatus stopping = ToCallStatus(device_lost() ? DeviceLost() : Draining(), "");
  rpc_->Stop(kFlushTime, stopping);
  if (health_rpc_ != nullptr) health_rpc_->Stop(kFlushTime, stopping);
}

}  // namespace corank
