// Leases, with which regions end.
#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/memory/region_registry.h"

namespace corank {
absl::StatusOr<std::string> RegionRegistry::OpenLease(absl::string_view owner, std::function<void()> on_idle) {
  absl::BitGen random;
  const std::string id = absl::StrCat(absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16),
                                      absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
  absl::MutexLock lock(&mutex_);
  const auto open =
      std::count_if(leases_.begin(), leases_.end(), [owner](const auto& lease) { return lease.second.owner == owner; });
  if (open >= MostOfOwner()) {
    return RetryLater(v1::ERROR_REASON_QUOTA_EXCEEDED,
                      absl::StrCat("the caller has ", open, " leases open, its maximum"), kFullRetry);
  }
  if (static_cast<int>(leases_.size()) >= options_.max_regions) {
    return RetryLater(v1::ERROR_REASON_TOO_MANY_OPEN,
                      absl::StrCat("the server already has its maximum of leases open, ", leases_.size()), kFullRetry);
  }
  leases_.emplace(id, LeaseEntry{std::string(owner), clock_->Now(), std::move(on_idle)});
  return id;
}

void RegionRegistry::CloseLease(const std::string& lease_id) {
  std::vector<std::shared_ptr<MemoryRegion>> ended;
  absl::MutexLock lock(&mutex_);
  leases_.erase(lease_id);
  for (auto entry = regions_.begin(); entry != regions_.end();) {
    if (entry->second.lease_id == lease_id) {
      ended.push_back(std::move(entry->second.region));
      entry = regions_.erase(entry);
    } else {
      ++entry;
    }
  }
}

void RegionRegistry::EndIdleLeases() {
  std::vector<std::function<void()>> told;
  {
    absl::MutexLock lock(&mutex_);
    const Instant now = clock_->Now();
    for (const auto& [key, region] : regions_) {
      if (const auto lease = leases_.find(region.lease_id); lease != leases_.end()) lease->second.last_used = now;
    }
    for (auto& [id, lease] : leases_) {
      if (now - lease.last_used > options_.expiry && lease.on_idle != nullptr) {
        told.push_back(std::exchange(lease.on_idle, nullptr));
      }
    }
  }
  for (const std::function<void()>& tell : told) tell();
}

int64_t RegionRegistry::lease_count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(leases_.size());
}

}  // namespace corank
