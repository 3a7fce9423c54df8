// A lease. Its regions end with it, at the latest when this process ends.
#ifndef CORANK_CLIENT_CPP_LEASE_H_
#define CORANK_CLIENT_CPP_LEASE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "client/cpp/patience.h"
#include "client/cpp/raw_stream.h"

namespace corank::client {

/// An OpenLease call that stays open while this object lives. Thread-safe.
class Lease final : private StreamEvents {
 public:
  /// Waits for the server's answer. UNIMPLEMENTED if the server has regions switched off.
  static absl::StatusOr<std::unique_ptr<Lease>> Open(Connection* connection, absl::Time deadline,
                                                     const CallOptions& call);
  /// The error of a call that did not get an open lease in time.
  static absl::Status NotOpened(const Patience& patience);
  ~Lease() override;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::string& id() const { return id_; }
  /// False once the server has ended the lease and its regions.
  bool is_open() const;

 private:
  Lease(Connection* connection, const CallOptions& call);
  std::optional<grpc::ByteBuffer> Next() override;
  absl::Status Take(grpc::ByteBuffer* message) override;
  void Done(const Attempt& attempt) override;
  bool HasAnswer() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return is_known_ || is_done_; }

  std::string id_;         // valid once is_known_
  bool is_asked_ = false;  // gRPC has the request
  mutable absl::Mutex mutex_;
  bool is_known_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  RawStream stream_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_LEASE_H_
