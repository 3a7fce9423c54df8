// How many requests a second each tenant may make.
#ifndef CORANK_SERVER_RPC_TENANT_RATES_H_
#define CORANK_SERVER_RPC_TENANT_RATES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"
#include "server/observe/metrics.h"
#include "server/security/caller.h"

namespace corank {

/// Thread-safe.
class TenantRates {
 public:
  /// `per_second`: requests of one tenant, 1 to 10^9. As many may come at once.
  explicit TenantRates(int64_t per_second) : interval_(kBurst / per_second) {}

  /// Counts a request. RESOURCE_EXHAUSTED with RetryInfo: the tenant has made too many.
  absl::Status Take(absl::string_view tenant, Instant now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr std::chrono::nanoseconds kBurst = std::chrono::seconds(1);

  const std::chrono::nanoseconds interval_;  // between requests at the highest rate
  absl::Mutex mutex_;
  // When a tenant's requests would be over if each took an interval.
  absl::flat_hash_map<std::string, Instant> ends_ ABSL_GUARDED_BY(mutex_);
  size_t prune_at_ ABSL_GUARDED_BY(mutex_) = 64;  // with so many entries, those of idle tenants go
};

/// Counts a request of the caller, and its refusal. The error of TenantRates::Take. `rates` null: no limit.
absl::Status TakeRate(TenantRates* rates, Metrics* metrics, const Caller& caller, Instant now);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_TENANT_RATES_H_
