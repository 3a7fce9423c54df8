// How the server describes itself: to callers of GetServerInfo and on the status page.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/server.h"
#include "version/version.h"

namespace corank {

v1::Setting Server::Effective(v1::Setting setting) const {
  const std::string name = setting.name();
  const auto replace_zero = [&setting](int64_t value) {
    if (setting.value() == "0") setting.set_value(absl::StrCat(value));
  };
  if (setting.hidden()) return setting;
  if (name == "engine") {
    setting.set_value(EngineKindName(engine_info().kind));
  } else if (name == "devices") {
    std::vector<int> ordinals;
    for (int i = 0; i < devices_.size(); ++i) ordinals.push_back(devices_.ordinal(i));
    setting.set_value(absl::StrJoin(ordinals, ","));
  } else if (name == "cpu-threads" && engine_info().kind == EngineKind::kCpu) {
    replace_zero(engine_info().parallelism);
  } else if (name == "small-lanes") {
    replace_zero(options_.lanes);
  } else if (name == "host-pool-bytes") {
    replace_zero(options_.host_pool.max_bytes);
  } else if (name == "kept-quota-bytes") {
    replace_zero(options_.arrays.max_bytes * devices_.size());
  } else if (name == "device-budget-bytes") {
    replace_zero(*std::min_element(plan_.budgets.limits.begin(), plan_.budgets.limits.end()));
  } else if (name == "max-device-bytes") {
    replace_zero(plan_.streams.max_device_bytes);
  } else if (name == "max-stream-host-bytes") {
    replace_zero(plan_.streams.max_host_bytes);
  } else if (name == "max-buffered-bytes") {
    replace_zero(BufferedBytes(MainLimits(options_)));
  }
  return setting;
}

v1::GetServerInfoResponse Server::Info() const {
  v1::GetServerInfoResponse info;
  info.set_version(Version());
  info.set_engine(engine_info().kind == EngineKind::kCuda ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  info.set_device(engine_info().device);
  info.set_engine_reason(devices_.reason());
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
  limits->set_max_device_bytes(plan_.streams.max_device_bytes);
  info.add_places("inline");
  info.add_places("stream");
  if (!options_.regions.shared_memory_prefixes.empty()) info.add_places("shared_memory");
  for (const std::string& prefix : options_.regions.shared_memory_prefixes) info.add_shared_memory_prefixes(prefix);
  if (options_.regions.cuda_ipc && engine_info().kind == EngineKind::kCuda) info.add_places("cuda_ipc");
  if (arrays_.is_on()) info.add_places("stored");
  info.set_device_uuid(engine_info().device_uuid);
  for (int i = 0; i < devices_.size(); ++i) {
    const EngineInfo& engine = devices_.engine(i).info();
    v1::Device* const device = info.add_devices();
    device->set_ordinal(devices_.ordinal(i));
    device->set_name(engine.device);
    device->set_uuid(engine.device_uuid);
    device->set_memory_bytes(engine.memory_bytes);
  }
  for (const v1::Setting& setting : options_.settings) *info.add_settings() = Effective(setting);
  return info;
}

ServerStatus Server::Status() const {
  ServerStatus status;
  status.version = Version();
  status.commit = Commit();
  const HealthBoard::Status ready = health_.Get("ready");
  status.is_serving = ready == grpc::health::v1::HealthCheckResponse::SERVING;
  if (status.is_serving) {
    status.state = "serving";
  } else if (device_lost()) {
    status.state = "all devices lost";
  } else if (ready == grpc::health::v1::HealthCheckResponse::SERVICE_UNKNOWN) {
    status.state = "starting";
  } else {
    absl::MutexLock lock(&health_mutex_);
    status.state = serves_ ? "no device passes its self-test" : "draining";
  }
  status.engine = EngineKindName(engine_info().kind);
  status.engine_reason = devices_.reason();
  for (int i = 0; i < devices_.size(); ++i) {
    const EngineInfo& engine = devices_.engine(i).info();
    status.devices.push_back({devices_.ordinal(i), engine.device, engine.memory_bytes, devices_.is_good(i)});
  }
  status.uptime_seconds = Nanoseconds(started_, clock_->Now()) / 1'000'000'000;
  status.waiting_requests = waiting_requests();
  for (int i = 0; i < kTaskPriorities; ++i) {
    const auto priority = static_cast<TaskPriority>(i);
    status.oldest_wait_seconds =
        std::max({status.oldest_wait_seconds, queue_.AgeSeconds(priority), long_queue_.AgeSeconds(priority)});
  }
  status.active_calls = active_calls();
  return status;
}

}  // namespace corank
