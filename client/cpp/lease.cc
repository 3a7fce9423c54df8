#include "client/cpp/lease.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/errors.h"

namespace corank::client {

Lease::Lease(Connection* connection, const CallOptions& call)
    : stub_(v1::MemoryService::NewStub(connection->channel())) {
  connection->Prepare(absl::InfiniteFuture(), call, &context_);
  stub_->async()->OpenLease(&context_, &request_, this);
  StartRead(&response_);
  StartCall();
}

absl::StatusOr<std::unique_ptr<Lease>> Lease::Open(Connection* connection, absl::Time deadline,
                                                   const CallOptions& call) {
  std::unique_ptr<Lease> lease(new Lease(connection, call));
  absl::MutexLock lock(&lease->mutex_);
  const auto answered = [&lease] {
    lease->mutex_.AssertReaderHeld();
    return lease->is_known_ || lease->is_done_;
  };
  lease->mutex_.AwaitWithDeadline(absl::Condition(&answered), deadline);
  if (lease->is_known_) return lease;
  const absl::Status error = lease->is_done_
                                 ? ToAbslStatus(lease->status_)
                                 : absl::DeadlineExceededError("the deadline passed before the server opened a lease");
  return error.ok() ? absl::InternalError("the server ended a lease before it began") : error;
}

Lease::~Lease() {
  context_.TryCancel();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&is_done_));
}

bool Lease::is_open() const {
  absl::MutexLock lock(&mutex_);
  return is_known_ && !is_done_;
}

void Lease::OnReadDone(bool ok) {
  if (!ok) return;
  {
    absl::MutexLock lock(&mutex_);
    if (!is_known_) id_ = response_.lease_id();
    is_known_ = true;
  }
  StartRead(&response_);
}

void Lease::OnDone(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  status_ = status;
  is_done_ = true;
}

}  // namespace corank::client
