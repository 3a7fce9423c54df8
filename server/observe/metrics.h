// Prometheus metrics. All names start with corank_, units are seconds and bytes.
#ifndef CORANK_SERVER_OBSERVE_METRICS_H_
#define CORANK_SERVER_OBSERVE_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/model/operator.h"

namespace corank {

/// The stages of a request, in order.
enum class Stage : uint8_t { kValidate, kQueue, kCopyIn, kKernel, kCopyOut, kRespond };
inline constexpr int kStageCount = 6;
constexpr const char* StageName(Stage stage) {
  constexpr const char* kNames[kStageCount] = {"validate", "queue", "copy_in", "kernel", "copy_out", "respond"};
  return kNames[static_cast<int>(stage)];
}

/// The cost of one request. A stage that the request did not reach is -1 and does not count.
struct RequestRecord {
  Operator op = Operator::kSort;
  absl::StatusCode code = absl::StatusCode::kOk;
  int64_t total_ns = 0;
  std::array<int64_t, kStageCount> stage_ns = {-1, -1, -1, -1, -1, -1};
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;

  int64_t& operator[](Stage stage) { return stage_ns[static_cast<int>(stage)]; }
};

/// Why a request was refused.
enum class Refusal : uint8_t {
  kQueueRequests,
  kQueueBytes,
  kTenantRequests,
  kTenantBytes,
  kTenantRate,
  kMemory,
  kLate,
  kDraining,
  kDeviceLost,
  kUnauthenticated,
  kForbidden,
  kIncomplete,
};
inline constexpr int kRefusalCount = 12;
constexpr const char* RefusalName(Refusal refusal) {
  constexpr const char* kNames[kRefusalCount] = {
      "queue_requests", "queue_bytes", "tenant_requests", "tenant_bytes",    "tenant_rate", "memory",
      "late",           "draining",    "device_lost",     "unauthenticated", "forbidden",   "incomplete"};
  return kNames[static_cast<int>(refusal)];
}

/// Readings of a GPU. A missing reading is -1 and is not shown.
struct DeviceReadings {
  double utilisation = -1;  // 0 to 1
  int64_t memory_used_bytes = -1;
  int64_t memory_total_bytes = -1;
  double power_watts = -1;
  double temperature_celsius = -1;
};

/// Counts of open items at one moment. All are 0 on an idle server.
struct OpenItems {
  int64_t connections = 0;
  int64_t calls = 0;
  int64_t jobs = 0;       // Execute jobs, including those that wait for parts
  int64_t job_bytes = 0;  // on host and devices, without pinned buffers
  int64_t regions = 0;
  int64_t leases = 0;
};

/// Lanes for short requests, and for long work: streams, and large arrays outside messages.
enum class LaneKind : uint8_t { kShort, kLong };
inline constexpr int kLaneKinds = 2;

/// Further tenants share the label "other".
inline constexpr int kMaxTenantLabels = 64;

/// Thread-safe. Handles are created once, so counting a request allocates only for the first of its kind.
class Metrics {
 public:
  Metrics();

  void CountRequest(const RequestRecord& record);
  /// Counts a call that is not a request of one operator, or that was refused before its operator was known. May
  /// allocate.
  void CountCall(absl::string_view operation, absl::StatusCode code);
  void CountRefusal(Refusal reason);
  void CountFailedHandshake();
  /// Counts an admitted request that was dropped before it reached this stage.
  void CountCancelled(Stage before);
  /// Counts a batch: its requests, and the bytes of their messages together.
  void ObserveBatch(Operator op, int requests, int64_t bytes);
  /// Counts a small request that the host's CPU ran at once, without a lane of a device.
  void CountHostRequest(Operator op);
  /// Counts a request that several devices share.
  void CountShardedRequest(Operator op);
  /// Counts a tenant's work: bytes of arrays and lane time. An empty name counts as "anonymous".
  void CountTenant(absl::string_view tenant, int64_t bytes, int64_t lane_ns);
  void AddQueued(int64_t requests, int64_t bytes);
  void AddBusyLanes(LaneKind kind, int change);
  /// Sets the number of lanes.
  void SetLanes(LaneKind kind, int lanes);
  /// Call it once, at startup.
  void SetEngine(const std::string& engine, const std::string& device, const std::string& version);

  /// Calls `collect` at the start of each scrape, one at a time, to set the gauges below. It must be callable until the
  /// last scrape, so the endpoint must stop before the objects that it reads are destroyed.
  void OnScrape(std::function<void()> collect);

  // For OnScrape: these allocate.
  /// Age of the oldest waiting request in a line; 0 if none waits.
  void SetQueueAge(absl::string_view line, double seconds);
  void SetMemory(absl::string_view budget, int64_t used_bytes, int64_t limit_bytes);
  /// One device's part of a memory budget.
  void SetDeviceMemory(int device, absl::string_view budget, int64_t used_bytes, int64_t limit_bytes);
  /// `memory`: "device" or "pinned".
  void SetKeptByLanes(int device, absl::string_view memory, int64_t bytes, int64_t limit_bytes);
  /// Idle pinned memory that is kept for later requests.
  void SetHostPoolKept(int64_t bytes);
  void SetOpen(const OpenItems& open);
  /// For --listen ("main") and --health-listen ("health"): the limit, and the connections refused since the start.
  void SetConnections(absl::string_view port, int limit, int64_t refused);
  /// "tls" or "tokens": whether the credentials in force match the files.
  void SetCredentialsCurrent(absl::string_view credentials, bool current);
  /// The rate that admission expects.
  void SetEstimatedRate(Operator op, double bytes_per_second);
  void SetDevice(int device, const DeviceReadings& readings);
  /// Whether the server uses this device: it works and passed its last self-test.
  void SetDeviceUp(int device, bool up);
  /// When the certificate of --listen expires, in seconds since 1970.
  void SetCertificateExpiry(double unix_seconds);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

  /// The metrics of one scrape.
  std::vector<prometheus::MetricFamily> Collect() const;
  /// The same in Prometheus' text format.
  std::string Text() const;

 private:
  static constexpr int kCodeCount = 17;  // of google.rpc.Code
  // The histograms of an operator, which have many series.
  struct Times {
    prometheus::Histogram* seconds = nullptr;
    std::array<prometheus::Histogram*, kStageCount> stage_seconds{};
    prometheus::Histogram* batch_requests = nullptr;
    prometheus::Histogram* batch_bytes = nullptr;
  };
  struct PerOperator {
    std::array<std::atomic<prometheus::Counter*>, kCodeCount> requests{};
    std::atomic<Times*> times{nullptr};  // made by its first request, so that an idle server's scrape stays short
    prometheus::Counter* received_bytes = nullptr;
    prometheus::Counter* sent_bytes = nullptr;
    prometheus::Counter* host_requests = nullptr;
    prometheus::Counter* sharded_requests = nullptr;
  };
  struct PerTenant {
    prometheus::Counter* bytes;
    prometheus::Counter* lane_seconds;
  };

  prometheus::Counter& Requests(Operator op, absl::StatusCode code);
  Times& TimesOf(Operator op) ABSL_LOCKS_EXCLUDED(times_mutex_);
  PerTenant Tenant(absl::string_view name) ABSL_LOCKS_EXCLUDED(tenants_mutex_);
  PerTenant MakeTenant(absl::string_view label);
  // Sets a gauge, which it makes at the first call.
  void Set(const char* name, const char* help, const prometheus::Labels& labels, double value) const;

  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>&seconds_, &stage_seconds_, &batch_requests_, &batch_bytes_;
  absl::Mutex times_mutex_;
  std::vector<std::unique_ptr<Times>> times_ ABSL_GUARDED_BY(times_mutex_);
  std::array<PerOperator, kOperatorCount> operators_;
  std::array<prometheus::Counter*, kRefusalCount> refused_;
  std::array<prometheus::Counter*, kStageCount> cancelled_;
  prometheus::Family<prometheus::Counter>& tenant_bytes_;
  prometheus::Family<prometheus::Counter>& tenant_lane_seconds_;
  absl::Mutex tenants_mutex_;
  absl::flat_hash_map<std::string, PerTenant> tenants_ ABSL_GUARDED_BY(tenants_mutex_);
  std::optional<PerTenant> other_tenants_ ABSL_GUARDED_BY(tenants_mutex_);  // set once there are too many
  mutable absl::Mutex scrape_mutex_;
  std::vector<std::function<void()>> collectors_ ABSL_GUARDED_BY(scrape_mutex_);
  prometheus::Gauge* queue_requests_ = nullptr;
  prometheus::Gauge* queue_bytes_ = nullptr;
  std::array<prometheus::Gauge*, kLaneKinds> lanes_busy_{};
  prometheus::Counter* failed_handshakes_ = nullptr;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_METRICS_H_
