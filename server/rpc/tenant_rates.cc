#include "server/rpc/tenant_rates.h"

#include <algorithm>

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace corank {

absl::Status TenantRates::Take(absl::string_view tenant, Instant now) {
  constexpr std::chrono::nanoseconds kLeastRetry = std::chrono::milliseconds(100);
  std::chrono::nanoseconds wait(0);
  {
    absl::MutexLock lock(&mutex_);
    if (ends_.size() >= prune_at_) {
      absl::erase_if(ends_, [now](const auto& entry) { return entry.second <= now; });
      prune_at_ = std::max(prune_at_, 2 * ends_.size());
    }
    Instant& end = ends_[tenant];
    const Instant next = std::max(end, now) + interval_;
    wait = next - (now + kBurst);
    if (wait.count() <= 0) end = next;
  }
  if (wait.count() <= 0) return absl::OkStatus();
  return RetryLater(v1::ERROR_REASON_QUOTA_EXCEEDED,
                    "this tenant makes more requests a second than --tenant-max-rate allows",
                    absl::FromChrono(std::max(wait, kLeastRetry)));
}

absl::Status TakeRate(TenantRates* rates, Metrics* metrics, const Caller& caller, Instant now) {
  if (rates == nullptr) return absl::OkStatus();
  absl::Status taken = rates->Take(caller.tenant, now);
  if (!taken.ok()) metrics->CountRefusal(Refusal::kTenantRate);
  return taken;
}

}  // namespace corank
