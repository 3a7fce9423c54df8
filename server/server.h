// The whole server in one object: engine, lanes, queue, gRPC and metrics, put together.
#ifndef CORANK_SERVER_SERVER_H_
#define CORANK_SERVER_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "server/admit/admission_queue.h"
#include "server/batch/batcher.h"
#include "server/execute/engine_choice.h"
#include "server/execute/lane_pool.h"
#include "server/memory/array_store.h"
#include "server/memory/copier.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "server/observe/clock.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/corank_service.h"
#include "server/rpc/memory_service.h"
#include "server/validate/validate.h"

namespace corank {

class Server {
 public:
  struct Options {
    /// HOST:PORT; port 0 means a free one.
    std::string listen = "127.0.0.1:50051";
    /// The same, for Prometheus; empty: no metrics are served.
    std::string metrics_listen = "127.0.0.1:9464";
    int lanes = 4;
    /// On a GPU: lanes that may have small requests at the same time; 0: all.
    int small_lanes = 4;
    /// Lanes for streams and for large arrays outside of messages.
    int long_lanes = 4;
    /// What makes arrays outside of a message large: more bytes than this. A GPU copies as much in about a millisecond.
    int64_t long_bytes = int64_t{32} << 20;
    /// Whether large arrays in shared memory are worked on in pieces; unset: on a GPU, whose copies then overlap with
    /// the work. A CPU has nothing to overlap.
    std::optional<bool> in_pieces;
    Limits limits;
    AdmissionQueue::Options queue;
    AdmissionQueue::Options long_queue;
    HostPool::Options host_pool;
    RegionRegistry::Options regions;
    ArrayStore::Options arrays;
    StreamOptions streams;
    Batcher::Options batch;
    /// Called once, when the device is lost: every call in flight gets UNAVAILABLE and the server will take no other.
    /// On any thread; must not block.
    std::function<void()> on_device_lost;
  };

  /// Serves when this returns. `logger` and `clock` must outlive the server. UNAVAILABLE, in words for an operator,
  /// where it cannot listen.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, ChosenEngine engine, const Clock* clock,
                                                       const Logger* logger);

  /// Stops, and waits for the lanes and for the thread that serves the metrics (that one looks up every 2 s only).
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// HOST:PORT with the ports that were taken.
  const std::string& address() const { return address_; }
  const std::string& metrics_address() const { return metrics_address_; }
  const EngineInfo& engine_info() const { return engine_.engine->info(); }
  const std::string& engine_reason() const { return engine_.reason; }
  int64_t active_calls() const { return active_calls_.count(); }
  int64_t waiting_requests() const { return queue_.waiting_requests() + long_queue_.waiting_requests(); }
  const Metrics& metrics() const { return metrics_; }
  const HostPool& host_pool() const { return *host_pool_; }
  const RegionRegistry& regions() const { return regions_; }
  const ArrayStore& arrays() const { return arrays_; }
  const ExecuteJobs& jobs() const { return corank_service_->jobs(); }

  /// Health goes to NOT_SERVING and new requests get UNAVAILABLE; what was admitted before is finished.
  /// `on_drained` is called when no call is left, perhaps more than once, on any thread; must not block. Once only.
  void Drain(std::function<void()> on_drained);

  /// Ends all that waits with UNAVAILABLE. What runs on a lane runs on.
  void AbortQueued();

  /// Ends all that waits with UNAVAILABLE, and serves no more calls when it returns. Metrics are served on.
  void Stop();

 private:
  Server(const Options& options, ChosenEngine engine, const Clock* clock, const Logger* logger);

  absl::Status StartMetrics();
  absl::Status StartLanes();
  absl::Status StartRpc();
  void OnDeviceLost();
  v1::GetServerInfoResponse Info() const;

  const Options options_;
  const ChosenEngine engine_;
  const Clock* const clock_;
  const Logger* const logger_;
  Metrics metrics_;
  ActiveCalls active_calls_;
  const std::shared_ptr<HostPool> host_pool_;
  RegionRegistry regions_;
  ArrayStore arrays_;
  std::unique_ptr<Copier> copier_;
  AdmissionQueue queue_, long_queue_;
  Batcher batcher_, long_batcher_;
  std::unique_ptr<LanePool> lanes_, long_lanes_;
  std::unique_ptr<CorankServiceImpl> corank_service_;
  std::unique_ptr<MemoryServiceImpl> memory_service_;
  std::unique_ptr<MetricsEndpoint> metrics_endpoint_;
  std::unique_ptr<grpc::Server> rpc_;
  std::string address_;
  std::string metrics_address_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SERVER_H_
