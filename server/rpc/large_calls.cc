#include "server/rpc/large_calls.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace corank {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLookInterval = std::chrono::milliseconds(5);
constexpr nanoseconds kLeastRetry = std::chrono::milliseconds(10);
constexpr int64_t kMib = int64_t{1} << 20;

}  // namespace

nanoseconds LargeCalls::TimeToAnswer(const std::string& caller) const {
  constexpr int kCaution = 2;  // calls differ
  // Callers have their turns one after the other.
  const auto line = lines_.find(caller);
  const size_t own = line == lines_.end() ? 0 : line->second.size();
  const size_t callers = lines_.size() + (line == lines_.end() ? 1 : 0);
  const size_t before = std::min((own + 1) * callers, static_cast<size_t>(waiting_) + 1);
  const nanoseconds interval = std::min(duration_, options_.most_time) / options_.most_turns;
  return interval * static_cast<int64_t>(before) + kCaution * duration_;
}

absl::StatusOr<std::unique_ptr<LargeCalls::Turn>> LargeCalls::Ask(const std::string& caller, int64_t bytes,
                                                                  Instant deadline, std::function<void()> begin,
                                                                  bool* begins) {
  std::vector<std::function<void()>> called;
  std::unique_ptr<Turn> turn(new Turn(this, caller, std::move(begin)));
  absl::Status refusal;
  {
    absl::MutexLock lock(&mutex_);
    const Instant now = clock_.Now();
    called = Advance(now);
    *begins = waiting_ == 0 && held_.size() < static_cast<size_t>(options_.most_turns);
    if (*begins) {
      turn->begin_ = nullptr;
      last_ = caller;
      Hold(turn.get(), bytes, now);
    } else {
      const nanoseconds time = TimeToAnswer(caller);
      const auto line = lines_.find(caller);
      const bool is_full =
          waiting_ >= options_.most_waiting ||
          (line != lines_.end() && line->second.size() >= static_cast<size_t>(options_.most_waiting_of_one));
      const absl::Duration retry = absl::FromChrono(std::max(time, kLeastRetry));
      if (is_full) {
        refusal =
            RetryLater(v1::ERROR_REASON_QUEUE_FULL, "too many calls with large messages wait to send them", retry);
      } else if (deadline != kForever && (deadline - now) / 4 * 3 < time) {  // the rest for the way to the caller
        refusal = RetryLater(
            v1::ERROR_REASON_DEADLINE_UNREACHABLE,
            "the deadline would pass before the message, which has to wait for others, is answered; allow more "
            "time, or try again later",
            retry);
      } else {
        lines_[caller].push_back({turn.get(), bytes});
        ++waiting_;
        LookLater();
      }
    }
  }
  for (const auto& each : called) each();
  if (!refusal.ok()) return refusal;
  return turn;
}

void LargeCalls::Hold(Turn* turn, int64_t bytes, Instant now) {
  turn->is_held_ = true;
  turn->began_ = now;
  turn->ends_ = now + options_.most_time + options_.most_time_per_mib * (bytes / kMib);
  held_.insert(turn);
}

std::vector<std::function<void()>> LargeCalls::Advance(Instant now) {
  std::vector<std::function<void()>> called;
  if (waiting_ == 0) return called;
  for (auto held = held_.begin(); held != held_.end();) {
    if ((*held)->ends_ <= now) {
      (*held)->is_held_ = false;
      held = held_.erase(held);
    } else {
      ++held;
    }
  }
  while (waiting_ > 0 && held_.size() < static_cast<size_t>(options_.most_turns)) {
    auto next = lines_.upper_bound(last_);
    if (next == lines_.end()) next = lines_.begin();
    last_ = next->first;
    const Waiting first = next->second.front();
    next->second.pop_front();
    if (next->second.empty()) lines_.erase(next);
    --waiting_;
    Hold(first.turn, first.bytes, now);
    called.push_back(std::exchange(first.turn->begin_, nullptr));
  }
  return called;
}

void LargeCalls::Leave(Turn* turn) {
  std::vector<std::function<void()>> called;
  {
    absl::MutexLock lock(&mutex_);
    const Instant now = clock_.Now();
    if (turn->is_answered_) {
      constexpr int kWeight = 16;
      duration_ += (now - turn->began_ - duration_) / (duration_.count() == 0 ? 1 : kWeight);
    }
    if (turn->is_held_) {
      held_.erase(turn);
    } else if (const auto line = lines_.find(turn->caller_); line != lines_.end()) {
      const auto place = std::find_if(line->second.begin(), line->second.end(),
                                      [turn](const Waiting& waiting) { return waiting.turn == turn; });
      if (place != line->second.end()) {
        line->second.erase(place);
        --waiting_;
      }
      if (line->second.empty()) lines_.erase(line);
    }
    called = Advance(now);
  }
  for (const auto& each : called) each();
}

void LargeCalls::LookLater() {
  if (std::exchange(is_looking_, true)) return;
  options_.later(kLookInterval, [this] { Look(); });
}

void LargeCalls::Look() {
  std::vector<std::function<void()>> called;
  {
    absl::MutexLock lock(&mutex_);
    is_looking_ = false;
    called = Advance(clock_.Now());
    if (waiting_ > 0) LookLater();
  }
  for (const auto& each : called) each();
}

int LargeCalls::turns() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(held_.size());
}

int LargeCalls::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

}  // namespace corank
