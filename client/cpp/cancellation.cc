#include "corank/cancellation.h"

#include "absl/time/clock.h"
#include "client/cpp/cancellation_scope.h"

namespace corank::client {

void Cancellation::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

bool Cancellation::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

CancellationScope::~CancellationScope() {
  if (cancellation_ == nullptr) return;
  absl::MutexLock lock(&cancellation_->mutex_);
  for (grpc::ClientContext* context : contexts_) cancellation_->contexts_.erase(context);
}

void CancellationScope::Add(grpc::ClientContext* context) {
  if (cancellation_ == nullptr) return;
  absl::MutexLock lock(&cancellation_->mutex_);
  contexts_.insert(context);
  cancellation_->contexts_.insert(context);
  if (cancellation_->cancelled_) context->TryCancel();
}

bool CancellationScope::Sleep(Cancellation* cancellation, absl::Duration time) {
  if (cancellation == nullptr) {
    absl::SleepFor(time);
    return true;
  }
  absl::MutexLock lock(&cancellation->mutex_);
  return !cancellation->mutex_.AwaitWithTimeout(absl::Condition(&cancellation->cancelled_), time);
}

}  // namespace corank::client
