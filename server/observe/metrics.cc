#include "server/observe/metrics.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"
#include "prometheus/text_serializer.h"
#include "server/observe/log.h"
#include "server/observe/process_metrics.h"

namespace corank {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

// 10 us to 100 s: a small request on an idle server is near the first, many gigabytes on the CPU engine near the last.
Buckets SecondsBuckets() {
  Buckets bounds;
  for (const double decade : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    for (const double step : {1.0, 2.5, 5.0}) bounds.push_back(step * decade);
  }
  bounds.push_back(100.0);
  return bounds;
}

Buckets PowersOf(double base, double first, int count) {
  Buckets bounds;
  for (double bound = first; count > 0; --count, bound *= base) bounds.push_back(bound);
  return bounds;
}

// Codes that requests end with and that alerts use.
constexpr absl::StatusCode kUsualCodes[] = {
    absl::StatusCode::kOk,          absl::StatusCode::kInvalidArgument,   absl::StatusCode::kCancelled,
    absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded,
    absl::StatusCode::kInternal,    absl::StatusCode::kUnknown,
};

// absl::StatusCode and google.rpc.Code have the same numbers.
int CodeIndex(absl::StatusCode code, int count) {
  const int index = static_cast<int>(code);
  return index >= 0 && index < count ? index : static_cast<int>(absl::StatusCode::kUnknown);
}

prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry& registry, const char* name,
                                                      const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

// Returns the existing family if there is one.
prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

const char* LaneName(LaneKind kind) { return kind == LaneKind::kShort ? "short" : "long"; }

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      requests_(Counters(*registry_, "corank_requests_total", "Answered requests by operator and status code.")),
      seconds_(Histograms(*registry_, "corank_request_seconds",
                          "Seconds from the complete arrival of a request until its answer is on the wire.")),
      stage_seconds_(Histograms(*registry_, "corank_stage_seconds",
                                "Seconds of a request in one stage. Requests that do not reach it are not counted.")),
      batch_requests_(Histograms(*registry_, "corank_batch_requests", "Requests in one batch.")),
      batch_bytes_(Histograms(*registry_, "corank_batch_bytes", "Bytes of the messages in one batch.")),
      tenant_bytes_(Counters(*registry_, "corank_tenant_bytes_total", "Bytes of the arrays in a tenant's requests.")),
      tenant_lane_seconds_(Counters(*registry_, "corank_tenant_lane_seconds_total",
                                    "Seconds that lanes spent on a tenant's requests.")) {
  auto& received = Counters(*registry_, "corank_received_bytes_total", "Bytes of request messages.");
  auto& sent = Counters(*registry_, "corank_sent_bytes_total", "Bytes of response messages.");
  auto& host_requests = Counters(*registry_, "corank_host_requests_total",
                                 "Requests that the host's CPU ran at once, without a lane of a device.");
  auto& sharded_requests =
      Counters(*registry_, "corank_sharded_requests_total", "Requests whose work several devices shared.");
  for (int i = 0; i < kOperatorCount; ++i) {
    const auto op = static_cast<Operator>(i);
    const std::string name = OperatorName(op);
    if (IsShareable(op)) {
      operators_[i].sharded_requests = &sharded_requests.Add({{"operator", name}});
    }
    operators_[i].received_bytes = &received.Add({{"operator", name}});
    operators_[i].sent_bytes = &sent.Add({{"operator", name}});
    operators_[i].host_requests = &host_requests.Add({{"operator", name}});
    // A rate needs the series before its first request.
    for (const absl::StatusCode code : kUsualCodes) Requests(op, code);
  }
  auto& refused = Counters(*registry_, "corank_refused_total", "Refused requests by reason.");
  for (int i = 0; i < kRefusalCount; ++i)
    refused_[i] = &refused.Add({{"reason", RefusalName(static_cast<Refusal>(i))}});
  auto& cancelled =
      Counters(*registry_, "corank_cancelled_total",
               "Admitted requests that were dropped before this stage: cancelled or past their deadline.");
  for (int i = 0; i < kStageCount; ++i) cancelled_[i] = &cancelled.Add({{"stage", StageName(static_cast<Stage>(i))}});
  const auto gauge = [this](const char* name, const char* help) { return &Gauges(*registry_, name, help).Add({}); };
  queue_requests_ = gauge("corank_queue_requests", "Waiting requests.");
  queue_bytes_ = gauge("corank_queue_bytes", "Bytes of waiting requests.");
  for (int i = 0; i < kLaneKinds; ++i) {
    lanes_busy_[i] = &Gauges(*registry_, "corank_lanes_busy", "Lanes that run a request, spare lanes included.")
                          .Add({{"lane", LaneName(static_cast<LaneKind>(i))}});
  }
  failed_handshakes_ =
      &Counters(*registry_, "corank_handshakes_failed_total", "TLS handshakes with --listen that failed.").Add({});
}

prometheus::Counter& Metrics::Requests(Operator op, absl::StatusCode code) {
  const int index = CodeIndex(code, kCodeCount);
  std::atomic<prometheus::Counter*>& cached = operators_[static_cast<int>(op)].requests[index];
  prometheus::Counter* counter = cached.load(std::memory_order_acquire);
  if (counter == nullptr) {  // Add returns the same counter for the same labels
    counter = &requests_.Add(
        {{"operator", OperatorName(op)}, {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
    cached.store(counter, std::memory_order_release);
  }
  return *counter;
}

Metrics::Times& Metrics::TimesOf(Operator op) {
  PerOperator& counters = operators_[static_cast<int>(op)];
  Times* times = counters.times.load(std::memory_order_acquire);
  if (times != nullptr) return *times;
  const absl::MutexLock lock(&times_mutex_);
  times = counters.times.load(std::memory_order_relaxed);
  if (times != nullptr) return *times;
  auto made = std::make_unique<Times>();
  const std::string name = OperatorName(op);
  made->seconds = &seconds_.Add({{"operator", name}}, SecondsBuckets());
  for (int stage = 0; stage < kStageCount; ++stage) {
    made->stage_seconds[stage] =
        &stage_seconds_.Add({{"operator", name}, {"stage", StageName(static_cast<Stage>(stage))}}, SecondsBuckets());
  }
  made->batch_requests = &batch_requests_.Add({{"operator", name}}, PowersOf(2, 1, 10));
  made->batch_bytes = &batch_bytes_.Add({{"operator", name}}, PowersOf(4, 1024, 12));
  times = made.get();
  times_.push_back(std::move(made));
  counters.times.store(times, std::memory_order_release);
  return *times;
}

void Metrics::CountRequest(const RequestRecord& record) {
  PerOperator& counters = operators_[static_cast<int>(record.op)];
  Requests(record.op, record.code).Increment();
  Times& times = TimesOf(record.op);
  times.seconds->Observe(static_cast<double>(record.total_ns) * 1e-9);
  for (int stage = 0; stage < kStageCount; ++stage) {
    if (record.stage_ns[stage] >= 0) {
      times.stage_seconds[stage]->Observe(static_cast<double>(record.stage_ns[stage]) * 1e-9);
    }
  }
  counters.received_bytes->Increment(static_cast<double>(record.received_bytes));
  counters.sent_bytes->Increment(static_cast<double>(record.sent_bytes));
}

void Metrics::CountCall(absl::string_view operation, absl::StatusCode code) {
  requests_.Add({{"operator", std::string(operation)}, {"code", absl::StatusCodeToString(code)}}).Increment();
}

void Metrics::CountFailedHandshake() { failed_handshakes_->Increment(); }

void Metrics::CountRefusal(Refusal reason) { refused_[static_cast<int>(reason)]->Increment(); }

void Metrics::CountCancelled(Stage before) { cancelled_[static_cast<int>(before)]->Increment(); }

void Metrics::ObserveBatch(Operator op, int requests, int64_t bytes) {
  Times& times = TimesOf(op);
  times.batch_requests->Observe(requests);
  times.batch_bytes->Observe(static_cast<double>(bytes));
}

void Metrics::CountShardedRequest(Operator op) {
  prometheus::Counter* const counter = operators_[static_cast<int>(op)].sharded_requests;
  if (counter != nullptr) counter->Increment();
}
void Metrics::CountHostRequest(Operator op) { operators_[static_cast<int>(op)].host_requests->Increment(); }

Metrics::PerTenant Metrics::Tenant(absl::string_view name) {
  {
    const absl::ReaderMutexLock lock(&tenants_mutex_);
    const auto found = tenants_.find(name);
    if (found != tenants_.end()) return found->second;
    if (other_tenants_) return *other_tenants_;
  }
  const absl::MutexLock lock(&tenants_mutex_);
  const auto found = tenants_.find(name);
  if (found != tenants_.end()) return found->second;
  if (static_cast<int>(tenants_.size()) < kMaxTenantLabels) {
    return tenants_.emplace(std::string(name), MakeTenant(name)).first->second;
  }
  if (!other_tenants_) other_tenants_ = MakeTenant("other");
  return *other_tenants_;
}

Metrics::PerTenant Metrics::MakeTenant(absl::string_view label) {
  const prometheus::Labels labels = {{"tenant", std::string(label)}};
  return {&tenant_bytes_.Add(labels), &tenant_lane_seconds_.Add(labels)};
}

void Metrics::CountTenant(absl::string_view tenant, int64_t bytes, int64_t lane_ns) {
  const PerTenant counters = Tenant(tenant.empty() ? "anonymous" : tenant);
  counters.bytes->Increment(static_cast<double>(bytes));
  counters.lane_seconds->Increment(static_cast<double>(lane_ns) * 1e-9);
}

void Metrics::AddQueued(int64_t requests, int64_t bytes) {
  queue_requests_->Increment(static_cast<double>(requests));
  queue_bytes_->Increment(static_cast<double>(bytes));
}

void Metrics::AddBusyLanes(LaneKind kind, int change) { lanes_busy_[static_cast<int>(kind)]->Increment(change); }

void Metrics::Set(const char* name, const char* help, const prometheus::Labels& labels, double value) const {
  Gauges(*registry_, name, help).Add(labels).Set(value);
}

void Metrics::SetLanes(LaneKind kind, int lanes) {
  Set("corank_lanes", "Configured lanes of all devices.", {{"lane", LaneName(kind)}}, lanes);
}

void Metrics::SetEngine(const std::string& engine, const std::string& device, const std::string& version) {
  Set("corank_engine_info", "Always 1. The labels name the engine, the device and the version.",
      {{"engine", engine}, {"device", device}, {"version", version}}, 1);
  Set("corank_build_info", "Always 1. The label names the version.", {{"version", version}}, 1);
}

void Metrics::OnScrape(std::function<void()> collect) {
  const absl::MutexLock lock(&scrape_mutex_);
  collectors_.push_back(std::move(collect));
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  const absl::MutexLock lock(&scrape_mutex_);
  for (const std::function<void()>& collect : collectors_) collect();
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  prometheus::ClientMetric lost;
  lost.counter.value = static_cast<double>(LostLogLines());
  families.push_back({"corank_log_lines_lost_total",
                      "Log lines lost because nobody read stderr.",
                      prometheus::MetricType::Counter,
                      {std::move(lost)}});
  std::vector<prometheus::MetricFamily> of_process = ProcessMetrics();
  std::move(of_process.begin(), of_process.end(), std::back_inserter(families));
  return families;
}

std::string Metrics::Text() const { return prometheus::TextSerializer().Serialize(Collect()); }

void Metrics::SetQueueAge(absl::string_view line, double seconds) {
  Set("corank_queue_age_seconds", "Age of the oldest waiting request of a priority.", {{"line", std::string(line)}},
      seconds);
}

void Metrics::SetMemory(absl::string_view budget, int64_t used_bytes, int64_t limit_bytes) {
  const prometheus::Labels labels = {{"budget", std::string(budget)}};
  Set("corank_memory_used_bytes", "Bytes of a memory budget that are in use.", labels, static_cast<double>(used_bytes));
  Set("corank_memory_limit_bytes", "Size of a memory budget.", labels, static_cast<double>(limit_bytes));
}

void Metrics::SetDeviceMemory(int device, absl::string_view budget, int64_t used_bytes, int64_t limit_bytes) {
  const prometheus::Labels labels = {{"device", absl::StrCat(device)}, {"budget", std::string(budget)}};
  Set("corank_device_budget_used_bytes", "Bytes of a device's memory budget that are in use.", labels,
      static_cast<double>(used_bytes));
  Set("corank_device_budget_limit_bytes", "Size of a device's memory budget.", labels,
      static_cast<double>(limit_bytes));
}

void Metrics::SetKeptByLanes(int device, absl::string_view memory, int64_t bytes, int64_t limit_bytes) {
  const prometheus::Labels labels = {{"device", absl::StrCat(device)}, {"memory", std::string(memory)}};
  Set("corank_lanes_kept_bytes", "Memory that a device's idle lanes keep for later requests.", labels,
      static_cast<double>(bytes));
  Set("corank_lanes_kept_limit_bytes", "The most that a device's idle lanes keep.", labels,
      static_cast<double>(limit_bytes));
}

void Metrics::SetHostPoolKept(int64_t bytes) {
  Set("corank_host_pool_kept_bytes", "Idle pinned memory that the server keeps for later requests.", {},
      static_cast<double>(bytes));
}

void Metrics::SetOpen(const OpenItems& open) {
  const auto set = [this](const char* name, const char* help, int64_t value) {
    Set(name, help, {}, static_cast<double>(value));
  };
  set("corank_connections", "Open connections to --listen.", open.connections);
  set("corank_calls", "Calls in progress, except for health checks and GetServerInfo.", open.calls);
  set("corank_stream_jobs", "Execute jobs in progress.", open.jobs);
  set("corank_stream_job_bytes", "Memory of Execute jobs and of work in pieces, without pinned buffers.",
      open.job_bytes);
  set("corank_regions", "Registered regions of shared memory and GPU memory.", open.regions);
  set("corank_region_leases", "Leases of regions that callers hold.", open.leases);
}

void Metrics::SetConnections(absl::string_view port, int limit, int64_t refused) {
  const prometheus::Labels labels = {{"port", std::string(port)}};
  Set("corank_connections_limit", "Maximum number of open connections.", labels, limit);
  prometheus::Counter& counter =
      Counters(*registry_, "corank_connections_refused_total", "Connections closed because too many were open.")
          .Add(labels);
  counter.Increment(static_cast<double>(refused) - counter.Value());
}

void Metrics::SetCredentialsCurrent(absl::string_view credentials, bool current) {
  Set("corank_credentials_current", "1 while the credentials in force match their files, else 0.",
      {{"credentials", std::string(credentials)}}, current ? 1 : 0);
}

void Metrics::SetEstimatedRate(Operator op, double bytes_per_second) {
  Set("corank_estimated_bytes_per_second", "Bytes per second that admission expects of an operator.",
      {{"operator", OperatorName(op)}}, bytes_per_second);
}

void Metrics::SetDevice(int device, const DeviceReadings& readings) {
  const auto set = [&](const char* name, const char* help, double value) {
    if (value >= 0) Set(name, help, {{"device", absl::StrCat(device)}}, value);
  };
  set("corank_device_utilisation_ratio", "Share of time in which a kernel ran on the GPU.", readings.utilisation);
  set("corank_device_memory_used_bytes", "GPU memory in use by all processes.",
      static_cast<double>(readings.memory_used_bytes));
  set("corank_device_memory_total_bytes", "Total GPU memory.", static_cast<double>(readings.memory_total_bytes));
  set("corank_device_power_watts", "Power draw of the GPU.", readings.power_watts);
  set("corank_device_temperature_celsius", "Temperature of the GPU.", readings.temperature_celsius);
}

void Metrics::SetDeviceUp(int device, bool up) {
  Set("corank_device_up", "1 while the device works and passed its last self-test, else 0.",
      {{"device", absl::StrCat(device)}}, up ? 1 : 0);
}

void Metrics::SetCertificateExpiry(double unix_seconds) {
  Set("corank_tls_certificate_expiry_timestamp_seconds",
      "When the server's certificate expires, in seconds since 1970.", {}, unix_seconds);
}

}  // namespace corank
