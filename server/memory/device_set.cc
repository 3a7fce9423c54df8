#include "server/memory/device_set.h"

#include <utility>

#include "server/base/status_macros.h"

namespace corank {
namespace {

uint64_t MaskOf(size_t devices) {
  return devices >= static_cast<size_t>(DeviceSet::kMaxDevices) ? ~uint64_t{0} : (uint64_t{1} << devices) - 1;
}

std::vector<uint64_t> LinksOf(const std::vector<Engine*>& engines) {
  const auto reaches = [](const Engine& from, const Engine& to) {
    return (to.info().linked >> from.info().ordinal & 1) != 0;
  };
  std::vector<uint64_t> links(engines.size());
  for (size_t i = 0; i < engines.size(); ++i) {
    for (size_t j = 0; j < engines.size(); ++j) {
      if (i == j || (reaches(*engines[i], *engines[j]) && reaches(*engines[j], *engines[i]))) {
        links[i] |= uint64_t{1} << j;
      }
    }
  }
  return links;
}

}  // namespace

DeviceSet::DeviceSet(std::vector<Engine*> engines)
    : engines_(std::move(engines)), all_(MaskOf(engines_.size())), links_(LinksOf(engines_)), live_(all_) {}

std::vector<int> DeviceSet::List(uint64_t devices) {
  std::vector<int> list;
  for (int i = 0; i < kMaxDevices; ++i) {
    if ((devices & Only(i)) != 0) list.push_back(i);
  }
  return list;
}

uint64_t DeviceSet::Linked(uint64_t devices, int64_t most, const std::vector<uint64_t>& links) {
  uint64_t best = 0;
  for (size_t first = 0; first < links.size(); ++first) {
    uint64_t linked = 0;
    for (size_t i = first; i < links.size() && Count(linked) < most; ++i) {
      if ((devices >> i & 1) != 0 && (linked & ~links[i]) == 0) linked |= uint64_t{1} << i;
    }
    if (Count(linked) > Count(best)) best = linked;
  }
  return best;
}

bool DeviceSet::AreLinked(uint64_t devices, const std::vector<uint64_t>& links) {
  for (size_t i = 0; i < links.size(); ++i) {
    if ((devices >> i & 1) != 0 && (devices & ~links[i]) != 0) return false;
  }
  return true;
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
