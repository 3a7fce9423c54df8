#include "client/cpp/retry.h"

#include <algorithm>
#include <cmath>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/cancellation_scope.h"
#include "client/cpp/explain.h"
#include "client/cpp/status_conversion.h"
#include "corank/errors.h"

namespace corank::client {
namespace {

class RealClock final : public RetryClock {
 public:
  absl::Time Now() override { return absl::Now(); }
  bool Sleep(Cancellation* cancellation, absl::Duration time) override {
    return CancellationScope::Sleep(cancellation, time);
  }
  double Random() override {
    thread_local absl::InsecureBitGen generator;
    return absl::Uniform(generator, 0.0, 1.0);
  }
};

}  // namespace

std::shared_ptr<RetryClock> RetryClock::Real() {
  static const auto* const clock = new std::shared_ptr<RetryClock>(std::make_shared<RealClock>());
  return *clock;
}

Failure FailureOf(const absl::Status& error) {
  if (MayRunJobAgain(error)) return Failure::kRefused;
  if (!absl::IsUnavailable(error) && !absl::IsResourceExhausted(error)) return Failure::kFinal;
  if (RetryDelay(error).has_value()) return Failure::kRefused;
  // Without a delay: a message is too large, or the caller's quota is full.
  if (absl::IsResourceExhausted(error)) return Failure::kFinal;
  if (TlsTroubleOf(error.message()) != TlsTrouble::kNone) return Failure::kFinal;
  // gRPC's messages for a call that was never sent. A call with another message counts as lost, which is safe.
  for (const char* words : {"failed to connect to all addresses", "DNS resolution failed", "errors resolving"}) {
    if (absl::StartsWith(error.message(), words)) return Failure::kNotSent;
  }
  return Failure::kLost;
}

NextTry AfterFailure(const RetryOptions& options, const absl::Status& error, Repeat repeat, int attempt,
                     absl::Duration remaining, double random) {
  const Failure failure = FailureOf(error);
  if (failure == Failure::kFinal || !options.enabled || options.max_attempts == 1) return {};
  if (repeat == Repeat::kNever && failure != Failure::kNotSent) {
    return {std::nullopt, "its results go over its inputs, which may have changed"};
  }
  if (repeat == Repeat::kUnlessLost && failure == Failure::kLost) {
    return {std::nullopt, "it may have been done, and doing it twice may do harm"};
  }
  if (attempt >= options.max_attempts) {
    return {std::nullopt, absl::StrCat("no more than ", options.max_attempts, " tries are allowed")};
  }
  const absl::Duration least = RetryDelay(error).value_or(absl::ZeroDuration());
  if (least >= remaining) return {std::nullopt, "the next try would begin after the deadline"};
  // Callers that got the same delay must not return at the same time, so they spread over as much time again.
  const absl::Duration unit = std::max(options.initial_delay, least);
  const absl::Duration spread = std::min({unit * std::pow(2.0, attempt - 1), options.max_delay, remaining - least});
  return {least + spread * random, ""};
}

bool RetryBudget::Take() {
  if (most_ <= 0) return true;
  absl::MutexLock lock(&mutex_);
  tokens_ = std::max(tokens_ - 1, 0.0);
  return tokens_ > most_ / 2;
}

void RetryBudget::Refill() {
  if (most_ <= 0) return;
  absl::MutexLock lock(&mutex_);
  tokens_ = std::min(tokens_ + refill_, most_);
}

}  // namespace corank::client
