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
#include "server/observe/operator.h"

namespace corank {

/// The stages that a request passes, in this order.
enum class Stage : uint8_t { kValidate, kQueue, kCopyIn, kKernel, kCopyOut, kRespond };
inline constexpr int kStageCount = 6;
constexpr const char* StageName(Stage stage) {
  constexpr const char* kNames[kStageCount] = {"validate", "queue", "copy_in", "kernel", "copy_out", "respond"};
  return kNames[static_cast<int>(stage)];
}

/// What one request took. A stage that the request did not reach is -1 and is not counted.
struct RequestRecord {
  Operator op = Operator::kSort;
  absl::StatusCode code = absl::StatusCode::kOk;
  int64_t total_ns = 0;
  std::array<int64_t, kStageCount> stage_ns = {-1, -1, -1, -1, -1, -1};
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;

  int64_t& operator[](Stage stage) { return stage_ns[static_cast<int>(stage)]; }
};

/// Why a request was not taken.
enum class Refusal : uint8_t {
  kQueueRequests,
  kQueueBytes,
  kTenantRequests,
  kTenantBytes,
  kMemory,
  kLate,
  kDraining,
  kDeviceLost,
  kUnauthenticated,
  kForbidden,
  kIncomplete,
};
inline constexpr int kRefusalCount = 11;
constexpr const char* RefusalName(Refusal refusal) {
  constexpr const char* kNames[kRefusalCount] = {"queue_requests",  "queue_bytes", "tenant_requests", "tenant_bytes",
                                                 "memory",          "late",        "draining",        "device_lost",
                                                 "unauthenticated", "forbidden",   "incomplete"};
  return kNames[static_cast<int>(refusal)];
}

/// What a GPU says of itself. A reading that it does not have is -1 and is not shown.
struct DeviceReadings {
  double utilisation = -1;  // 0 to 1
  int64_t memory_used_bytes = -1;
  int64_t memory_total_bytes = -1;
  double power_watts = -1;
  double temperature_celsius = -1;
};

/// What is open at one moment; all of it is 0 on a server that nobody uses.
struct OpenItems {
  int64_t connections = 0;
  int64_t calls = 0;
  int64_t jobs = 0;       // of Execute, also those that wait for their parts
  int64_t job_bytes = 0;  // that they hold on host and devices, beside pinned buffers
  int64_t regions = 0;
  int64_t leases = 0;
};

/// Lanes for requests, and for what takes long: streams, and large arrays outside of the message.
enum class LaneKind : uint8_t { kShort, kLong };
inline constexpr int kLaneKinds = 2;

/// Tenants beyond this many share the label "other".
inline constexpr int kMaxTenantLabels = 64;

/// Thread-safe. Handles are made once, so that counting a request allocates nothing after the first of its kind.
class Metrics {
 public:
  Metrics();

  void CountRequest(const RequestRecord& record);
  /// A call that is no request of one operator, or was refused before its operator was known. May allocate.
  void CountCall(absl::string_view operation, absl::StatusCode code);
  void CountRefusal(Refusal reason);
  void CountFailedHandshake();
  /// Of requests that were admitted: work dropped before it reached this stage.
  void CountCancelled(Stage before);
  /// Requests that share a lease of a lane, and the bytes of their messages together.
  void ObserveBatch(Operator op, int requests, int64_t bytes);
  /// A request that went to no lane of a device, as it is small: the host's processor does it at once.
  void CountHostRequest(Operator op);
  /// What work of a tenant took: bytes of its arrays and time of lanes. An empty name counts as "anonymous".
  void CountTenant(absl::string_view tenant, int64_t bytes, int64_t lane_ns);
  void AddQueued(int64_t requests, int64_t bytes);
  void AddBusyLanes(LaneKind kind, int change);
  /// Lanes that there are.
  void SetLanes(LaneKind kind, int lanes);
  /// Once, at start.
  void SetEngine(const std::string& engine, const std::string& device, const std::string& version);

  /// `collect` is called at the begin of each scrape, one at a time, to set the gauges below. It must live and be
  /// callable until the last scrape: whoever serves metrics stops before what they look at.
  void OnScrape(std::function<void()> collect);

  // For OnScrape: these allocate.
  /// Age of the oldest request that waits in a line; 0 where none does.
  void SetQueueAge(absl::string_view line, double seconds);
  void SetMemory(absl::string_view budget, int64_t used_bytes, int64_t limit_bytes);
  /// One device's part of a memory budget.
  void SetDeviceMemory(int device, absl::string_view budget, int64_t used_bytes, int64_t limit_bytes);
  /// Pinned memory that nobody uses and that is kept for the next request.
  void SetHostPoolKept(int64_t bytes);
  void SetOpen(const OpenItems& open);
  /// Of --listen ("main") and --health-listen ("health"): what may be open, and what was refused since the start.
  void SetConnections(absl::string_view port, int limit, int64_t refused);
  /// "tls" or "tokens": whether what is in force is what the files say.
  void SetCredentialsCurrent(absl::string_view credentials, bool current);
  /// What the admission reckons with.
  void SetEstimatedRate(Operator op, double bytes_per_second);
  void SetDevice(int device, const DeviceReadings& readings);
  /// Whether the server uses this device: it is there, and its last canary was good.
  void SetDeviceUp(int device, bool up);
  /// When the certificate that --listen shows expires, in seconds since 1970.
  void SetCertificateExpiry(double unix_seconds);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

  /// A scrape.
  std::vector<prometheus::MetricFamily> Collect() const;

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
  };
  struct PerTenant {
    prometheus::Counter* bytes;
    prometheus::Counter* lane_seconds;
  };

  prometheus::Counter& Requests(Operator op, absl::StatusCode code);
  Times& TimesOf(Operator op) ABSL_LOCKS_EXCLUDED(times_mutex_);
  PerTenant Tenant(absl::string_view name) ABSL_LOCKS_EXCLUDED(tenants_mutex_);
  PerTenant MakeTenant(absl::string_view label);

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
  std::optional<PerTenant> other_tenants_ ABSL_GUARDED_BY(tenants_mutex_);  // once there are too many
  mutable absl::Mutex scrape_mutex_;
  std::vector<std::function<void()>> collectors_ ABSL_GUARDED_BY(scrape_mutex_);
  prometheus::Gauge* queue_requests_ = nullptr;
  prometheus::Gauge* queue_bytes_ = nullptr;
  std::array<prometheus::Gauge*, kLaneKinds> lanes_busy_{};
  prometheus::Counter* failed_handshakes_ = nullptr;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_METRICS_H_
