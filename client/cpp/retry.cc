#include "client/cpp/retry.h"

#include <algorithm>
#include <cmath>

#include "client/cpp/errors.h"

namespace corank::client {

std::optional<absl::Duration> NextRetry(const RetryOptions& options, const absl::Status& error, int attempt,
                                        absl::Duration remaining, double jitter) {
  if (!options.enabled || attempt >= options.max_attempts) return std::nullopt;
  if (!absl::IsUnavailable(error) && !absl::IsResourceExhausted(error)) return std::nullopt;
  const std::optional<absl::Duration> asked = RetryDelay(error);
  if (!asked.has_value()) return std::nullopt;
  const absl::Duration doubled = *asked * std::pow(2.0, attempt - 1);
  const absl::Duration delay = std::max(*asked, std::min(doubled, options.max_delay)) * (1 + jitter / 4);
  if (delay >= remaining) return std::nullopt;
  return delay;
}

}  // namespace corank::client
