// Prometheus metrics. All names start with corank_, units are seconds and bytes.
#ifndef CORANK_SERVER_OBSERVE_METRICS_H_
#define CORANK_SERVER_OBSERVE_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/observe/operator.h"

namespace prometheus {
class Exposer;
}

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

/// Thread-safe. Handles are made once, so that counting a request allocates nothing after the first of its kind.
class Metrics {
 public:
  Metrics();

  void CountRequest(const RequestRecord& record);
  void AddQueued(int64_t requests, int64_t bytes);
  void AddBusyLanes(int change);
  /// Once, at start.
  void SetEngine(const std::string& engine, const std::string& device, const std::string& version);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  static constexpr int kCodeCount = 17;  // of google.rpc.Code
  struct PerOperator {
    std::array<std::atomic<prometheus::Counter*>, kCodeCount> requests{};
    prometheus::Histogram* seconds = nullptr;
    std::array<prometheus::Histogram*, kStageCount> stage_seconds{};
    prometheus::Counter* received_bytes = nullptr;
    prometheus::Counter* sent_bytes = nullptr;
  };

  prometheus::Counter& Requests(Operator op, absl::StatusCode code);

  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  std::array<PerOperator, kOperatorCount> operators_;
  prometheus::Gauge* queue_requests_ = nullptr;
  prometheus::Gauge* queue_bytes_ = nullptr;
  prometheus::Gauge* lanes_busy_ = nullptr;
};

/// Serves GET /metrics until destroyed.
class MetricsEndpoint {
 public:
  /// `address` is HOST:PORT; port 0 means a free one. UNAVAILABLE where it cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Create(const std::string& address, const Metrics& metrics);
  ~MetricsEndpoint();

  int port() const;

 private:
  explicit MetricsEndpoint(std::unique_ptr<prometheus::Exposer> exposer);
  const std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_METRICS_H_
