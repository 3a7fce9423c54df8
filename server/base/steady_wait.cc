#include "server/base/steady_wait.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "server/base/clock.h"

namespace corank {
namespace {

// Of a thread that waits.
struct Alarm {
  absl::Mutex* const mutex;
  const Instant at;
  bool rang = false;  // guarded by the mutex
};

// Rings alarms in time, on a thread of its own.
class AlarmClock {
 public:
  static AlarmClock& Get() {
    static auto* const clock = new AlarmClock;  // its thread never ends
    return *clock;
  }

  void Set(Alarm* alarm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto place = alarms_.emplace(alarm->at, alarm).first;
    if (place == alarms_.begin()) is_sooner_.notify_one();
  }
  // False: the alarm is about to ring.
  bool Unset(Alarm* alarm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return alarms_.erase({alarm->at, alarm}) > 0;
  }

 private:
  AlarmClock() {
    std::thread([this] { Run(); }).detach();
  }

  [[noreturn]] void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (alarms_.empty()) {
        is_sooner_.wait(lock);
      } else if (const Instant first = alarms_.begin()->first; first > Clock::Steady().Now()) {
        is_sooner_.wait_until(lock, first);
      } else {
        Alarm* const alarm = alarms_.begin()->second;
        alarms_.erase(alarms_.begin());
        // The waiting thread may hold its mutex now, and want this one.
        lock.unlock();
        Ring(alarm);
        lock.lock();
      }
    }
  }

  static void Ring(Alarm* alarm) {
    absl::MutexLock lock(alarm->mutex);
    alarm->rang = true;
  }

  std::mutex mutex_;
  std::condition_variable is_sooner_;
  std::set<std::pair<Instant, Alarm*>> alarms_;  // guarded by the mutex
};

}  // namespace

bool AwaitSteadily(absl::Mutex* mutex, const absl::Condition& condition, absl::Duration timeout) {
  if (condition.Eval()) return true;
  if (timeout <= absl::ZeroDuration()) return false;
  if (timeout == absl::InfiniteDuration()) {
    mutex->Await(condition);
    return true;
  }
  Alarm alarm{mutex, Clock::Steady().Now() + absl::ToChronoNanoseconds(timeout)};
  AlarmClock& clock = AlarmClock::Get();
  clock.Set(&alarm);
  const auto ends = [&] { return alarm.rang || condition.Eval(); };
  mutex->Await(absl::Condition(&ends));
  if (!alarm.rang && !clock.Unset(&alarm)) mutex->Await(absl::Condition(&alarm.rang));
  return condition.Eval();
}

}  // namespace corank
