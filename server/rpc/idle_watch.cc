#include "server/rpc/idle_watch.h"

#include "absl/time/clock.h"
#include "server/base/errors.h"

namespace corank {

absl::Status IdleWatch::Idle(absl::string_view what) const { return StreamIdle(what, timeout_); }

void IdleWatch::Wait() {
  absl::MutexLock lock(&mutex_);
  if (has_ended_) return;
  waits_since_ = std::chrono::steady_clock::now();
  if (alarm_ == nullptr) Arm(timeout_);
}

bool IdleWatch::Resume() {
  absl::MutexLock lock(&mutex_);
  waits_since_.reset();
  return !has_ended_;
}

void IdleWatch::Stop() {
  std::unique_ptr<grpc::Alarm> alarm;  // cancelled without the lock
  std::function<void()> on_idle;
  absl::MutexLock lock(&mutex_);
  has_ended_ = true;
  alarm.swap(alarm_);
  on_idle.swap(on_idle_);
}

// One alarm serves many operations: it checks again when the latest of them would be late.
void IdleWatch::Arm(absl::Duration after) {
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(absl::ToChronoTime(absl::Now() + after), [self = shared_from_this()](bool passed) {
    if (passed) self->Look();
  });
}

void IdleWatch::Look() {
  std::unique_ptr<grpc::Alarm> passed;
  std::function<void()> on_idle;
  {
    absl::MutexLock lock(&mutex_);
    if (has_ended_) return;
    passed.swap(alarm_);
    const absl::Duration waited =
        waits_since_ ? absl::FromChrono(std::chrono::steady_clock::now() - *waits_since_) : absl::ZeroDuration();
    if (waited < timeout_) return Arm(timeout_ - waited);
    has_ended_ = true;
    on_idle.swap(on_idle_);
  }
  on_idle();
}

}  // namespace corank
