#include "server/memory/device_set.h"

#include <utility>

#include "server/base/status_macros.h"

namespace corank {
namespace {

uint64_t MaskOf(size_t devices) {
  return devices >= static_cast<size_t>(DeviceSet::kMaxDevices) ? ~uint64_t{0} : (uint64_t{1} << devices) - 1;
}

Topology TopologyOf(const std::vector<Engine*>& engines) {
  const auto reaches = [](const Engine& from, const Engine& to) {
    return (to.info().linked >> from.info().ordinal & 1) != 0;
  };
  Topology topology;
  topology.reach.resize(engines.size());
  for (size_t i = 0; i < engines.size(); ++i) {
    for (size_t j = 0; j < engines.size(); ++j) {
      if (i == j || (reaches(*engines[i], *engines[j]) && reaches(*engines[j], *engines[i]))) {
        topology.reach[i] |= uint64_t{1} << j;
      }
    }
    topology.numa_nodes.push_back(engines[i]->info().numa_node);
  }
  return topology;
}

}  // namespace

DeviceSet::DeviceSet(std::vector<Engine*> engines)
    : engines_(std::move(engines)), all_(MaskOf(engines_.size())), topology_(TopologyOf(engines_)), live_(all_) {}

std::vector<int> DeviceSet::List(uint64_t devices) {
  std::vector<int> list;
  for (int i = 0; i < kMaxDevices; ++i) {
    if ((devices & Only(i)) != 0) list.push_back(i);
  }
  return list;
}

absl::Status DeviceSet::MakeCopiers() {
  for (Engine* const engine : engines_) {
    CORANK_ASSIGN_OR_RETURN(copiers_.emplace_back(), Copier::Create(engine));
  }
  return absl::OkStatus();
}

Engine& DeviceSet::host() const {
  const uint64_t live = this->live();
  for (int device = 0; device < size(); ++device) {
    if ((live & Only(device)) != 0) return engine(device);
  }
  return engine(0);
}

void DeviceSet::SetGood(int device, bool good) {
  if (good) {
    bad_.fetch_and(~Only(device), std::memory_order_acq_rel);
  } else {
    bad_.fetch_or(Only(device), std::memory_order_acq_rel);
  }
}

bool DeviceSet::ShouldRun(int device, uint64_t devices) const {
  if ((devices & live() & Only(device)) == 0) return false;
  const uint64_t good = devices & this->good();
  return good == 0 || (good & Only(device)) != 0;
}

}  // namespace corank
