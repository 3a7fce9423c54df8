#include "server/memory/device_set.h"

#include <utility>

namespace corank {
namespace {

uint64_t MaskOf(size_t devices) {
  return devices >= static_cast<size_t>(DeviceSet::kMaxDevices) ? ~uint64_t{0} : (uint64_t{1} << devices) - 1;
}

}  // namespace

DeviceSet::DeviceSet(std::vector<Engine*> engines)
    : engines_(std::move(engines)), all_(MaskOf(engines_.size())), live_(all_) {}

absl::Status DeviceSet::MakeCopiers() {
  for (Engine* const engine : engines_) {
    absl::StatusOr<std::unique_ptr<Copier>> copier = Copier::Create(engine);
    if (!copier.ok()) return copier.status();
    copiers_.push_back(*std::move(copier));
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
