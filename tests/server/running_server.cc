#include "tests/server/running_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "grpcpp/create_channel.h"
#include "proto/error_details.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

std::vector<ChosenEngine> Only(ChosenEngine engine) {
  std::vector<ChosenEngine> engines;
  engines.push_back(std::move(engine));
  return engines;
}

template <typename Detail>
bool Unpack(const grpc::Status& status, const char* type_url, Detail* detail) {
  wire::v1::RpcStatus details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& any : details.details()) {
    if (any.type_url() == type_url) return detail->ParseFromString(any.value());
  }
  return false;
}

}  // namespace

ChosenEngine CpuEngine() {
  EngineOptions options;
  options.choice = EngineChoice::kCpu;
  options.cpu_threads = 2;
  auto engines = ChooseEngines(options);
  EXPECT_TRUE(engines.ok()) << engines.status();
  return std::move(engines->front());
}

Server::Options TestOptions() {
  Server::Options options;
  options.listen = "127.0.0.1:0";
  options.metrics_listen = "";
  options.lanes = 1;
  options.helpers = 2;
  options.canary.interval = absl::ZeroDuration();  // tests hold, break and count what an engine does
  return options;
}

Server::Options PiecesOptions(int64_t max_device_bytes) {
  Server::Options options = TestOptions();
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  options.long_bytes = 1000;
  options.in_pieces = true;
  options.long_lanes = 1;
  options.limits.max_chunk_bytes = 8 << 10;
  options.streams.window_bytes = 64 << 10;
  options.streams.piece_bytes = 20000;
  options.streams.max_device_bytes = max_device_bytes;
  options.streams.max_host_bytes = int64_t{64} << 20;
  return options;
}

RunningServer::RunningServer(const Server::Options& options) : RunningServer(options, CpuEngine()) {}

RunningServer::RunningServer(const Server::Options& options, ChosenEngine engine, const Clock* clock)
    : RunningServer(options, Only(std::move(engine)), clock) {}

RunningServer::RunningServer(const Server::Options& options, std::vector<ChosenEngine> engines, const Clock* clock)
    : logger_(LogLevel::kError) {
  for (size_t i = 0; i < engines.size(); ++i) engines[i].ordinal = static_cast<int>(i);
  auto started = Server::Start(options, std::move(engines), clock, &logger_);
  EXPECT_TRUE(started.ok()) << started.status();
  server_ = *std::move(started);
  channel_ = Connect(server_->address());
  stub_ = v1::CorankService::NewStub(channel_);
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own for each channel
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string BadField(const grpc::Status& status) {
  wire::v1::BadRequest detail;
  return Unpack(status, kBadRequestUrl, &detail) && detail.field_violations_size() == 1
             ? detail.field_violations(0).field()
             : "";
}

wire::v1::ErrorInfo InfoOf(const grpc::Status& status) {
  wire::v1::ErrorInfo detail;
  Unpack(status, kErrorInfoUrl, &detail);
  return detail;
}

absl::Duration RetryDelay(const grpc::Status& status) {
  wire::v1::RetryInfo detail;
  if (!Unpack(status, kRetryInfoUrl, &detail)) return -absl::InfiniteDuration();
  return absl::Seconds(detail.retry_delay().seconds()) + absl::Nanoseconds(detail.retry_delay().nanos());
}

double MetricOf(const Server& server, absl::string_view name, absl::string_view label) {
  for (const prometheus::MetricFamily& family : server.metrics().Collect()) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      const auto is_wanted = [label](const auto& one) { return one.value == label; };
      const bool found = label.empty() || std::any_of(metric.label.begin(), metric.label.end(), is_wanted);
      if (found) return metric.counter.value + metric.gauge.value;
    }
  }
  return -1;
}

bool Eventually(const std::function<bool()>& condition) {
  for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return condition();
}

void ExpectAllFreed(const Server& server) {
  const auto is_free = [&server] {
    const auto jobs = server.jobs();
    return server.active_calls() == 0 && server.host_pool().bytes_in_use() == 0 && jobs.memory_in_use == 0 &&
           jobs.joining_jobs == 0 && server.waiting_requests() == 0;
  };
  EXPECT_TRUE(Eventually(is_free)) << server.active_calls() << " calls, " << server.host_pool().bytes_in_use()
                                   << " bytes of buffers, " << server.jobs().memory_in_use << " bytes, "
                                   << server.jobs().joining_jobs << " joining, " << server.waiting_requests()
                                   << " waiting";
}

}  // namespace corank::testing
