#include "client/cpp/lease.h"

#include <utility>

#include "client/cpp/messages.h"
#include "corank/v1/memory_service.pb.h"

namespace corank::client {
namespace {

constexpr char kOpenLease[] = "/corank.v1.MemoryService/OpenLease";

}  // namespace

Lease::Lease(Connection* connection, const CallOptions& call) : stream_(connection->channel(), kOpenLease, this) {
  connection->Prepare(absl::InfiniteFuture(), call, stream_.context());
}

absl::StatusOr<std::unique_ptr<Lease>> Lease::Open(Connection* connection, absl::Time deadline,
                                                   const CallOptions& call) {
  std::unique_ptr<Lease> lease(new Lease(connection, call));
  lease->stream_.Start();
  Patience patience(deadline, call.cancellation);
  const bool has_answer = patience.Await([&lease](absl::Time until) {
    absl::MutexLock lock(&lease->mutex_);
    return lease->mutex_.AwaitWithDeadline(absl::Condition(lease.get(), &Lease::HasAnswer), until);
  });
  if (!has_answer) return NotOpened(patience);
  absl::MutexLock lock(&lease->mutex_);
  if (lease->is_known_) return lease;
  return lease->status_.ok() ? absl::InternalError("the server ended a lease before it began") : lease->status_;
}

absl::Status Lease::NotOpened(const Patience& patience) {
  const absl::Status error = patience.error();
  return absl::IsCancelled(error) ? error
                                  : absl::DeadlineExceededError("the deadline passed before the server opened a lease");
}

Lease::~Lease() {
  stream_.Cancel();
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&is_done_), Patience::kGrace);
}

bool Lease::is_open() const {
  absl::MutexLock lock(&mutex_);
  return is_known_ && !is_done_;
}

std::optional<grpc::ByteBuffer> Lease::Next() {
  if (std::exchange(is_asked_, true)) return std::nullopt;
  return Encode(v1::OpenLeaseRequest());
}

absl::Status Lease::Take(grpc::ByteBuffer* message) {
  v1::OpenLeaseResponse response;
  if (const absl::Status decoded = Decode(message, &response); !decoded.ok()) return decoded;
  absl::MutexLock lock(&mutex_);
  if (!is_known_) id_ = response.lease_id();
  is_known_ = true;
  return absl::OkStatus();
}

void Lease::Done(const Attempt& attempt) {
  absl::MutexLock lock(&mutex_);
  status_ = attempt.status;
  is_done_ = true;
}

}  // namespace corank::client
