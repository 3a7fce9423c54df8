#include "server/server_devices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/engine/numa.h"

namespace corank {

ServerDevices::ServerDevices(std::vector<ChosenEngine> engines, const Logger* logger, Listener listener)
    : logger_(logger), listener_(std::move(listener)), reason_(engines.front().reason) {
  std::vector<Engine*> watched;
  for (ChosenEngine& chosen : engines) {
    const auto device = static_cast<int>(devices_.size());
    DeviceWatch::Options options;
    options.device = device;
    options.ordinal = chosen.ordinal;
    options.has_others = [this, device] { return (set_->live() & ~DeviceSet::Only(device)) != 0; };
    const auto on_lost = [this, device](const std::string&) {
      set_->Lose(device);
      listener_.on_lost(device);
    };
    auto& added = *devices_.emplace_back(std::make_unique<Device>());
    added.watch = std::make_unique<DeviceWatch>(on_lost, logger_, std::move(options));
    added.engine = Watched(std::move(chosen.engine), added.watch.get());
    watched.push_back(added.engine.get());
  }
  set_.emplace(std::move(watched));
}

absl::Status ServerDevices::MakeCanaries(const Canary::Options& options) {
  if (options.interval == absl::ZeroDuration()) return absl::OkStatus();
  for (int i = 0; i < size(); ++i) {
    Device& device = *devices_[static_cast<size_t>(i)];
    const auto on_change = [this, i](bool good) {
      set_->SetGood(i, good);
      listener_.on_change();
    };
    absl::StatusOr<std::unique_ptr<Canary>> canary =
        Canary::Create(options, device.engine.get(), device.watch.get(), logger_, on_change);
    if (!canary.ok()) {
      return absl::Status(canary.status().code(), absl::StrCat("device ", ordinal(i), ": ", canary.status().message()));
    }
    device.canary = *std::move(canary);
  }
  return absl::OkStatus();
}

void ServerDevices::StartCanaries() {
  for (const std::unique_ptr<Device>& device : devices_) {
    if (device->canary != nullptr) device->canary->Start();
  }
}

void ServerDevices::StopCanaries() {
  for (const std::unique_ptr<Device>& device : devices_) device->canary.reset();
}

void ServerDevices::ReadLinks(const Nvml* nvml) {
  const auto count = static_cast<size_t>(size());
  std::vector<std::vector<DeviceLink>> links(count, std::vector<DeviceLink>(count));
  for (size_t i = 0; i < count && nvml != nullptr; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const auto uuid = [this](size_t device) { return engine(static_cast<int>(device)).info().device_uuid; };
      links[i][j] = links[j][i] = nvml->Link(uuid(i), uuid(j));
    }
  }
  if (nvml != nullptr) set_->SetLinks(std::move(links));
  const Topology& topology = set_->topology();
  const bool may_place = PreferNumaNode::IsAllowed();
  for (int i = 0; i < size() && size() > 1; ++i) {
    // By GPU, in the order of their ordinals.
    std::vector<int> reached, nvlinks;
    for (const int j : DeviceSet::List(topology.reach[static_cast<size_t>(i)] & ~DeviceSet::Only(i))) {
      reached.push_back(ordinal(j));
      if (nvml == nullptr) continue;
      nvlinks.push_back(topology.links[static_cast<size_t>(i)][static_cast<size_t>(j)].nvlinks);
    }
    const int node = engine(i).info().numa_node;
    logger_->Log(LogLevel::kInfo, "device_links",
                 {{"device", ordinal(i)},
                  {"reaches", absl::StrJoin(reached, ",")},
                  {"nvlinks", absl::StrJoin(nvlinks, ",")},
                  {"numa_node", node},
                  {"pinned_memory", node >= 0 && may_place ? "its node preferred" : "any node"}});
  }
}

std::string ServerDevices::HealthService(int device) const {
  return absl::StrCat("engine.", EngineKindName(engine(device).info().kind), ".", ordinal(device));
}

}  // namespace corank
