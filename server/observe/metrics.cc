#include "server/observe/metrics.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "prometheus/exposer.h"

namespace corank {
namespace {

// 5 us to 10 s: a small request on an idle server is near the first, a gigabyte on the CPU engine near the last.
prometheus::Histogram::BucketBoundaries SecondsBuckets() {
  prometheus::Histogram::BucketBoundaries bounds;
  for (const double decade : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}) {
    for (const double step : {1.0, 2.5, 5.0}) {
      if (step * decade >= 4e-6) bounds.push_back(step * decade);
    }
  }
  bounds.push_back(10.0);
  return bounds;
}

// Numbers of absl::StatusCode and google.rpc.Code are the same.
int CodeIndex(absl::StatusCode code, int count) {
  const int index = static_cast<int>(code);
  return index >= 0 && index < count ? index : static_cast<int>(absl::StatusCode::kUnknown);
}

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      requests_(prometheus::BuildCounter()
                    .Name("corank_requests_total")
                    .Help("Requests that were answered, by operator and status code.")
                    .Register(*registry_)) {
  auto& seconds = prometheus::BuildHistogram()
                      .Name("corank_request_seconds")
                      .Help("Time from the arrival of a whole request to its answer on the wire.")
                      .Register(*registry_);
  auto& stage_seconds = prometheus::BuildHistogram()
                            .Name("corank_stage_seconds")
                            .Help("Time of a request in one stage; requests that did not reach it are not counted.")
                            .Register(*registry_);
  auto& received = prometheus::BuildCounter()
                       .Name("corank_received_bytes_total")
                       .Help("Bytes of request messages.")
                       .Register(*registry_);
  auto& sent = prometheus::BuildCounter()
                   .Name("corank_sent_bytes_total")
                   .Help("Bytes of response messages.")
                   .Register(*registry_);
  for (int i = 0; i < kOperatorCount; ++i) {
    const std::string name = OperatorName(static_cast<Operator>(i));
    operators_[i].seconds = &seconds.Add({{"operator", name}}, SecondsBuckets());
    for (int stage = 0; stage < kStageCount; ++stage) {
      operators_[i].stage_seconds[stage] =
          &stage_seconds.Add({{"operator", name}, {"stage", StageName(static_cast<Stage>(stage))}}, SecondsBuckets());
    }
    operators_[i].received_bytes = &received.Add({{"operator", name}});
    operators_[i].sent_bytes = &sent.Add({{"operator", name}});
    Requests(static_cast<Operator>(i), absl::StatusCode::kOk);  // a rate needs the series before its first request
  }
  const auto gauge = [this](const char* name, const char* help) {
    return &prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add({});
  };
  queue_requests_ = gauge("corank_queue_requests", "Requests that wait.");
  queue_bytes_ = gauge("corank_queue_bytes", "Bytes of the requests that wait.");
  lanes_busy_ = gauge("corank_lanes_busy", "Lanes that work on a request.");
}

prometheus::Counter& Metrics::Requests(Operator op, absl::StatusCode code) {
  const int index = CodeIndex(code, kCodeCount);
  std::atomic<prometheus::Counter*>& cached = operators_[static_cast<int>(op)].requests[index];
  prometheus::Counter* counter = cached.load(std::memory_order_acquire);
  if (counter == nullptr) {  // Add returns the same counter to everyone who asks for these labels
    counter = &requests_.Add(
        {{"operator", OperatorName(op)}, {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
    cached.store(counter, std::memory_order_release);
  }
  return *counter;
}

void Metrics::CountRequest(const RequestRecord& record) {
  PerOperator& counters = operators_[static_cast<int>(record.op)];
  Requests(record.op, record.code).Increment();
  counters.seconds->Observe(static_cast<double>(record.total_ns) * 1e-9);
  for (int stage = 0; stage < kStageCount; ++stage) {
    if (record.stage_ns[stage] >= 0) {
      counters.stage_seconds[stage]->Observe(static_cast<double>(record.stage_ns[stage]) * 1e-9);
    }
  }
  counters.received_bytes->Increment(static_cast<double>(record.received_bytes));
  counters.sent_bytes->Increment(static_cast<double>(record.sent_bytes));
}

void Metrics::AddQueued(int64_t requests, int64_t bytes) {
  queue_requests_->Increment(static_cast<double>(requests));
  queue_bytes_->Increment(static_cast<double>(bytes));
}

void Metrics::AddBusyLanes(int change) { lanes_busy_->Increment(change); }

void Metrics::SetEngine(const std::string& engine, const std::string& device, const std::string& version) {
  prometheus::BuildGauge()
      .Name("corank_engine_info")
      .Help("Always 1; its labels say which engine, device and version serve.")
      .Register(*registry_)
      .Add({{"engine", engine}, {"device", device}, {"version", version}})
      .Set(1);
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Create(const std::string& address,
                                                                         const Metrics& metrics) {
  try {  // civetweb's wrapper reports a taken port by an exception
    auto exposer = std::make_unique<prometheus::Exposer>(address, /*num_threads=*/1);
    exposer->RegisterCollectable(metrics.registry());
    return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(exposer)));
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for metrics: ", e.what()));
  }
}

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<prometheus::Exposer> exposer) : exposer_(std::move(exposer)) {}
MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
  const auto ports = exposer_->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace corank
