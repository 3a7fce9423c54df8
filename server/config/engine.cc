#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(std::string, engine, "auto",
          "Engine that runs the operators: cuda, cpu, or auto, which takes CUDA if it works and the CPU otherwise.");
ABSL_FLAG(std::vector<std::string>, devices, {"all"},
          "GPUs that share the work: all, or up to 64 ordinals separated by commas, such as 0,1.");
ABSL_FLAG(int32_t, devices_per_request, 0,
          "Most GPUs that share one large request, 1 to 64. Only idle GPUs share it, so that under load each "
          "request has one. Also the most parts of a sharded array. 0: all of them. 1: none shares.");
ABSL_FLAG(
    std::string, peer_access, "auto",
    "Whether GPUs read each other's memory. auto: where the host supports it. off: never, which is for tests. GPUs "
    "that cannot read it pass the rows of shared sorts through the host, which gains less. They share no gathers, "
    "moves and scatters, and their sharded arrays have one part.");
ABSL_FLAG(int32_t, lanes, 4, "Requests that each device runs at the same time, 1 to 256.");
ABSL_FLAG(int32_t, long_lanes, 8,
          "Streams, and requests on large arrays outside messages, that each device runs at the same time, 1 to 256.");
ABSL_FLAG(int32_t, spare_lanes, 24,
          "Extra streams that each device may run while as many others stall because their callers neither send nor "
          "read, 0 to 1024.");
ABSL_FLAG(int32_t, small_lanes, 4,
          "Lanes of each GPU that may run small requests at the same time; small requests that arrive meanwhile form a "
          "batch. 0: all lanes.");
ABSL_FLAG(int32_t, cpu_threads, 0, "Threads for one operator on the CPU engine, 0 to 4096. 0: one for each core.");
ABSL_FLAG(absl::Duration, canary_interval, absl::Seconds(5),
          "Time between self-tests, each a small sort on a device, 10ms to 24h. 0s turns them off; the server then "
          "does not notice a device that hangs.");
ABSL_FLAG(absl::Duration, canary_timeout, absl::Seconds(10),
          "A self-test that takes longer takes its device out of service until one succeeds, 100ms to 24h.");
ABSL_FLAG(absl::Duration, hang_timeout, absl::Minutes(1),
          "A GPU is lost if one call to it takes longer than this, up to 24h. 0s: never. When the last GPU is lost, "
          "the process exits with code 3.");

namespace corank {
namespace {

absl::Status ReadDevices(EngineOptions& engine) {
  const std::vector<std::string> names = absl::GetFlag(FLAGS_devices);
  if (names == std::vector<std::string>{"all"}) return absl::OkStatus();
  for (const std::string& name : names) {
    int ordinal = -1;
    if (!absl::SimpleAtoi(name, &ordinal) || ordinal < 0 || ordinal > 1023) {
      return BadValue("devices", absl::StrCat("'", name, "' is not the ordinal of a GPU, 0 to 1023, nor is it all"));
    }
    engine.devices.push_back(ordinal);
  }
  std::sort(engine.devices.begin(), engine.devices.end());
  const auto twice = std::adjacent_find(engine.devices.begin(), engine.devices.end());
  if (twice != engine.devices.end()) return BadValue("devices", absl::StrCat("names GPU ", *twice, " twice"));
  if (engine.devices.size() > static_cast<size_t>(DeviceSet::kMaxDevices)) {
    return BadValue("devices",
                    absl::StrCat("names ", engine.devices.size(), " GPUs, more than ", DeviceSet::kMaxDevices));
  }
  return engine.devices.empty() ? BadValue("devices", "names no GPU") : absl::OkStatus();
}

absl::Status ReadPeerAccess(Configuration& configuration) {
  const std::string access = absl::GetFlag(FLAGS_peer_access);
  if (access != "auto" && access != "off")
    return BadValue("peer-access", absl::StrCat("'", access, "' is not auto or off"));
  configuration.engine.peer_access = access == "auto";
  return absl::OkStatus();
}

absl::Status CheckCanaryInterval(absl::Duration interval) {
  if (interval == absl::ZeroDuration() || (interval >= absl::Milliseconds(10) && interval <= absl::Hours(24))) {
    return absl::OkStatus();
  }
  return BadValue("canary-interval", absl::StrCat(absl::FormatDuration(interval), " is not in 10ms to 24h, nor 0s"));
}

absl::Status ReadEngine(Configuration& configuration) {
  const std::string name = absl::GetFlag(FLAGS_engine);
  if (name == "auto") {
    configuration.engine.choice = EngineChoice::kAuto;
  } else if (name == "cuda") {
    configuration.engine.choice = EngineChoice::kCuda;
  } else if (name == "cpu") {
    configuration.engine.choice = EngineChoice::kCpu;
  } else {
    return BadValue("engine", absl::StrCat("'", name, "' is not auto, cuda or cpu"));
  }
  CORANK_RETURN_IF_ERROR(ReadDevices(configuration.engine));
  if (configuration.engine.choice == EngineChoice::kCpu && !configuration.engine.devices.empty()) {
    configuration.warnings.emplace_back("--devices: --engine=cpu uses no GPU, and this sets nothing");
  }
  CORANK_RETURN_IF_ERROR(ReadPeerAccess(configuration));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_cpu_threads, configuration.engine.cpu_threads, 0, 4096));
  Server::Options& server = configuration.server;
  CORANK_RETURN_IF_ERROR(Take(FLAGS_devices_per_request, server.devices_per_request, 0, DeviceSet::kMaxDevices));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_lanes, server.lanes, 1, 256));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_long_lanes, server.long_lanes, 1, 256));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_spare_lanes, server.spare_lanes, 0, 1024));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_small_lanes, server.small_lanes, 0, 256));
  server.canary.interval = absl::GetFlag(FLAGS_canary_interval);
  CORANK_RETURN_IF_ERROR(CheckCanaryInterval(server.canary.interval));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_canary_timeout, server.canary.timeout, absl::Milliseconds(100)));
  return Take(FLAGS_hang_timeout, server.canary.hang_timeout, absl::ZeroDuration());
}

}  // namespace

Group EngineGroup() {
  return {
      "engine",
      "Engine, devices and concurrency",
      {Shown(FLAGS_engine), Shown(FLAGS_devices), Shown(FLAGS_devices_per_request), Shown(FLAGS_peer_access),
       Shown(FLAGS_lanes), Shown(FLAGS_long_lanes), Shown(FLAGS_spare_lanes), Shown(FLAGS_small_lanes),
       Shown(FLAGS_cpu_threads), Shown(FLAGS_canary_interval), Shown(FLAGS_canary_timeout), Shown(FLAGS_hang_timeout)},
      ReadEngine};
}

}  // namespace corank
