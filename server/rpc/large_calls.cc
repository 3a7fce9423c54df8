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

// What follows `last` in its order, which goes around.
template <typename Map>
typename Map::iterator Next(Map& map, const typename Map::key_type& last) {
  const auto next = map.upper_bound(last);
  return next == map.end() ? map.begin() : next;
}

}  // namespace

LargeCalls::Own LargeCalls::FindOwn(const Caller& caller) const {
  const auto line = lines_.find(caller.tenant);
  if (line == lines_.end()) return {};
  const auto& queues = line->second.queues;
  const auto queue = queues.find(caller.connection);
  return {line->second.size, queue == queues.end() ? 0 : queue->second.size(), queues.size()};
}

bool LargeCalls::IsFull(const Own& own) const {
  return waiting_ >= options_.most_waiting || own.of_tenant >= static_cast<size_t>(options_.most_waiting_of_tenant) ||
         own.of_connection >= static_cast<size_t>(options_.most_waiting_of_connection);
}

nanoseconds LargeCalls::TimeToAnswer(const Own& own) const {
  constexpr int kCaution = 2;  // calls differ
  const size_t tenants = lines_.size() + (own.of_tenant == 0 ? 1 : 0);
  const size_t connections = own.connections + (own.of_connection == 0 ? 1 : 0);
  const size_t before_of_tenant = std::min((own.of_connection + 1) * connections, own.of_tenant + 1);
  const size_t before = std::min(before_of_tenant * tenants, static_cast<size_t>(waiting_) + 1);
  const nanoseconds interval = std::min(duration_, options_.most_time) / options_.most_turns;
  return interval * static_cast<int64_t>(before) + kCaution * duration_;
}

absl::StatusOr<std::unique_ptr<LargeCalls::Turn>> LargeCalls::Ask(const Caller& caller, int64_t bytes, Instant deadline,
                                                                  std::function<void()> begin, bool* begins) {
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
      last_ = caller.tenant;
      Hold(turn.get(), bytes, now);
    } else {
      const Own own = FindOwn(caller);
      const nanoseconds time = TimeToAnswer(own);
      const absl::Duration retry = absl::FromChrono(std::max(time, kLeastRetry));
      if (IsFull(own)) {
        refusal =
            RetryLater(v1::ERROR_REASON_QUEUE_FULL, "too many calls with large messages wait to send them", retry);
      } else if (deadline != kForever && (deadline - now) / 4 * 3 < time) {  // the rest for the way to the caller
        refusal = RetryLater(
            v1::ERROR_REASON_DEADLINE_UNREACHABLE,
            "the deadline would pass before the message, which has to wait for others, is answered; allow more "
            "time, or try again later",
            retry);
      } else {
        Line& line = lines_[caller.tenant];
        line.queues[caller.connection].push_back({turn.get(), bytes});
        ++line.size;
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
    const Waiting first = TakeNext();
    Hold(first.turn, first.bytes, now);
    called.push_back(std::exchange(first.turn->begin_, nullptr));
  }
  return called;
}

LargeCalls::Waiting LargeCalls::TakeNext() {
  const auto line = Next(lines_, last_);
  last_ = line->first;
  const auto queue = Next(line->second.queues, line->second.last);
  line->second.last = queue->first;
  const Waiting first = queue->second.front();
  Withdraw(first.turn);
  return first;
}

void LargeCalls::Withdraw(Turn* turn) {
  const auto line = lines_.find(turn->caller_.tenant);
  if (line == lines_.end()) return;
  const auto queue = line->second.queues.find(turn->caller_.connection);
  if (queue == line->second.queues.end()) return;
  const auto place = std::find_if(queue->second.begin(), queue->second.end(),
                                  [turn](const Waiting& waiting) { return waiting.turn == turn; });
  if (place == queue->second.end()) return;
  --waiting_;
  --line->second.size;
  queue->second.erase(place);
  if (queue->second.empty()) line->second.queues.erase(queue);
  if (line->second.size == 0) lines_.erase(line);
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
    } else {
      Withdraw(turn);
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
