// The whole server in one object: engine, lanes, queue, gRPC and metrics.
#ifndef CORANK_SERVER_SERVER_H_
#define CORANK_SERVER_SERVER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "corank/v1/corank_service.pb.h"
#include "kernels/engine/budget.h"
#include "server/base/clock.h"
#include "server/memory/array_store.h"
#include "server/memory/host_pool.h"
#include "server/memory/housekeeper.h"
#include "server/memory/region_registry.h"
#include "server/memory/run_buffers.h"
#include "server/memory_plan.h"
#include "server/metrics_endpoint.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/nvml.h"
#include "server/observe/status_page.h"
#include "server/plan/parse/validate.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/gate.h"
#include "server/rpc/health.h"
#include "server/rpc/helpers.h"
#include "server/rpc/large_calls.h"
#include "server/rpc/tenant_rates.h"
#include "server/rpc_endpoint.h"
#include "server/run/engine_choice.h"
#include "server/run/lane_pool.h"
#include "server/schedule/scheduler.h"
#include "server/security/security.h"
#include "server/server_devices.h"
#include "server/wire/loop.h"

namespace corank {

class CorankServiceImpl;
class InferenceService;
class MemoryServiceImpl;

/// Streamed jobs at one moment.
struct StreamedJobs {
  int64_t jobs = 0;
  int64_t joining_jobs = 0;   // which wait for parts
  int64_t memory_in_use = 0;  // bytes of devices and host, beside the windows
};

/// Thread-safe, but Drain and Stop are for one thread.
class Server {
 public:
  struct Options {
    /// HOST:PORT, where port 0 means a free one, or unix:PATH.
    std::string listen = "127.0.0.1:50051";
    /// The same, for Prometheus and the status page; empty: not served.
    std::string metrics_listen = "127.0.0.1:9464";
    /// Address for grpc.health.v1 alone, in plain text; empty: none.
    std::string health_listen;
    /// Whether `listen` also serves the Open Inference Protocol.
    bool kserve = true;
    SecurityOptions security;
    ConnectionLimits connections;  // `limits` determines the message size
    int lanes = 4;                 // of each device, like the numbers of lanes below
    /// On a GPU: lanes that may run small requests at the same time; 0: all.
    int small_lanes = 4;
    /// Lanes for streams and for large arrays outside messages.
    int long_lanes = 8;
    /// Most additional such lanes, while as many stall because of their callers.
    int spare_lanes = 24;
    /// PlannerOptions::host_bytes.
    int64_t host_bytes = 0;
    /// Arrays outside a message are large if they have more bytes. A GPU copies as much in about a millisecond.
    int64_t long_bytes = int64_t{32} << 20;
    /// PlannerOptions::most_shards and shard_bytes.
    int devices_per_request = 0;
    int64_t shard_bytes = int64_t{32} << 20;
    /// Whether large arrays in shared memory are processed in pieces; unset: on a GPU, whose copies then overlap with
    /// the work. A CPU has nothing to overlap.
    std::optional<bool> in_pieces;
    /// Threads for what must not hold up connections; by default derived from the number of cores.
    std::optional<int> helpers;
    /// Threads that serve the connections of `listen`; by default derived from the number of cores.
    std::optional<int> loops;
    Limits limits;
    Scheduler::Options queue;
    Scheduler::Options long_queue;
    /// Requests of one tenant in a second; 0: any number.
    int64_t tenant_max_rate = 0;
    /// Memory of each device for running requests together; 0: nine tenths of the device's, less that of stored arrays.
    int64_t device_budget_bytes = 0;
    HostPool::Options host_pool;
    /// Most host memory in idle run buffers; unset: as much as may be in use.
    std::optional<int64_t> max_kept_run_bytes;
    RegionRegistry::Options regions;
    ArrayStore::Options arrays;
    StreamOptions streams;
    Canary::Options canary;
    /// MemoryEnvironment::most_time.
    std::chrono::nanoseconds memory_call_time = std::chrono::minutes(5);
    /// A request that takes at least this long is logged; 0: none is.
    std::chrono::nanoseconds slow_request{0};
    /// Shown by GetServerInfo; the server replaces a 0 or "auto" that it derives by the value in force.
    std::vector<v1::Setting> settings;
    /// Called once, when the last device is lost: every running call gets UNAVAILABLE and the server accepts no more.
    /// Called on any thread; must not block.
    std::function<void()> on_device_lost;
  };

  /// Serves when this returns. `engines`: all of one kind, one for each device. `logger` and `clock` must outlive the
  /// server. UNAVAILABLE, worded for an operator, if it cannot listen; INVALID_ARGUMENT if there are too many devices.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, std::vector<ChosenEngine> engines,
                                                       const Clock* clock, const Logger* logger);

  /// Stops, and waits for the lanes and for the thread that serves the metrics, which checks every 2 s only.
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// HOST:PORT with the actual port.
  const std::string& address() const { return rpc_->address(); }
  /// Empty if there is no such port.
  std::string health_address() const { return health_rpc_ == nullptr ? "" : health_rpc_->address(); }
  const RpcEndpoint& rpc() const { return *rpc_; }
  const Security& security() const { return *security_; }
  const std::string& metrics_address() const { return metrics_address_; }
  /// The engine of the first device.
  const EngineInfo& engine_info() const { return devices_.engine(0).info(); }
  const std::string& engine_reason() const { return devices_.reason(); }
  const ServerDevices& devices() const { return devices_; }
  int64_t active_calls() const { return active_calls_.count(); }
  /// Devices on which no request works or waits.
  uint64_t idle_devices() const { return queue_.IdleDevices() & long_queue_.IdleDevices(); }
  int64_t waiting_requests() const { return queue_.waiting_requests() + long_queue_.waiting_requests(); }
  const Metrics& metrics() const { return metrics_; }
  const HealthBoard& health() const { return health_; }
  /// Whether the last device is lost.
  bool device_lost() const { return devices_.all_lost(); }
  const HostPool& host_pool() const { return *host_pool_; }
  const RunBuffers& run_buffers() const { return *run_buffers_; }
  const RegionRegistry& regions() const { return regions_; }
  const ArrayStore& arrays() const { return arrays_; }
  StreamedJobs jobs() const;

  /// Sets health to NOT_SERVING and refuses new requests with UNAVAILABLE; admitted ones are finished. `on_drained` is
  /// called when no call is left, perhaps more than once, on any thread; it must not block. Call Drain once.
  void Drain(std::function<void()> on_drained);

  /// Ends waiting requests and all streams with UNAVAILABLE. Running requests continue.
  void AbortQueued();

  /// Ends waiting requests with UNAVAILABLE, and serves no more calls when it returns. Continues to serve metrics.
  void Stop();

 private:
  Server(const Options& options, std::vector<ChosenEngine> engines, const Clock* clock, const Logger* logger);

  static ConnectionLimits MainLimits(const Options& options);
  static MemoryPlan PlanMemory(const Options& options, const ServerDevices& devices);
  absl::Status StartMetrics();
  ServerStatus Status() const ABSL_LOCKS_EXCLUDED(health_mutex_);
  void ObserveQueues();
  void ObserveDevices();
  void ObserveCalls();
  void WatchDevices();
  absl::Status StartLanes();
  absl::Status StartHostLanes();
  absl::Status StartRpc();
  absl::Status StartEndpoints();
  int Loops() const;
  void OnDeviceLost(int device);
  void AbandonLanes(int device) ABSL_LOCKS_EXCLUDED(lanes_mutex_);
  // Unless another thread does. Without lanes_mutex_, because a hanging device keeps it waiting.
  void TrimLanes(LanePool::Idle idle) ABSL_LOCKS_EXCLUDED(lanes_mutex_, trim_mutex_);
  void OnDevicesChanged();
  // Updates the health board from the state of the devices and of the server.
  void ShowHealth();
  // Refuses new calls; with `also_running`, also ends waiting calls and streams.
  void Refuse(const absl::Status& refusal, bool also_running);
  v1::GetServerInfoResponse Info() const;
  // The setting with the value in force, where the configuration leaves the value to the server.
  v1::Setting Effective(v1::Setting setting) const;

  const Options options_;
  ServerDevices devices_;
  std::atomic<bool> all_lost_{false};  // and reported
  const Clock* const clock_;
  const Instant started_;
  const Logger* const logger_;
  Metrics metrics_;
  HealthBoard health_;
  mutable absl::Mutex health_mutex_;
  bool serves_ ABSL_GUARDED_BY(health_mutex_) = false;  // from startup until it drains
  ActiveCalls active_calls_;
  Gate gate_;
  const MemoryPlan plan_;
  const std::shared_ptr<Budget> buffered_;  // messages that have not come whole
  const std::shared_ptr<wire::Loop> timers_;
  const std::shared_ptr<HostPool> host_pool_;
  const std::shared_ptr<RunBuffers> run_buffers_;
  RegionRegistry regions_;
  ArrayStore arrays_;
  DeviceMemory device_memory_;
  Scheduler queue_, long_queue_;
  absl::Mutex trim_mutex_;  // held while lanes are trimmed; before lanes_mutex_
  absl::Mutex lanes_mutex_;
  // Of each device, for short and for long work.
  std::vector<std::pair<int, std::unique_ptr<LanePool>>> lanes_ ABSL_GUARDED_BY(lanes_mutex_);
  bool lanes_end_ ABSL_GUARDED_BY(lanes_mutex_) = false;
  std::unique_ptr<Engine> host_engine_;   // exists beside GPUs
  std::unique_ptr<LanePool> host_lanes_;  // for small requests; null if these go to the devices too
  std::unique_ptr<LargeCalls> large_calls_;
  std::unique_ptr<TenantRates> rates_;
  std::unique_ptr<CorankServiceImpl> corank_service_;
  std::unique_ptr<MemoryServiceImpl> memory_service_;
  std::unique_ptr<InferenceService> inference_service_;  // null: not served
  std::unique_ptr<Nvml> nvml_;
  std::unique_ptr<MetricsEndpoint> metrics_endpoint_;
  std::unique_ptr<Security> security_;
  std::unique_ptr<RpcEndpoint> rpc_, health_rpc_;
  std::string metrics_address_;
  std::unique_ptr<Housekeeper> housekeeper_;
  // Destroyed first: helpers may still work for calls that have ended, such as a pin past its deadline.
  Helpers helpers_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SERVER_H_
