// A lease: the regions registered with it end when this process does.
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

/// An OpenLease call that stays open for as long as this lives. Thread-safe.
class Lease final : private StreamEvents {
 public:
  /// Waits for the server's answer. UNIMPLEMENTED where the server has no regions.
  static absl::StatusOr<std::unique_ptr<Lease>> Open(Connection* connection, absl::Time deadline,
                                                     const CallOptions& call);
  /// What a call fails with that was not given an open lease in its time.
  static absl::Status NotOpened(const Patience& patience);
  ~Lease() override;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::string& id() const { return id_; }
  /// False once the server has ended it, and with it its regions.
  bool is_open() const;

 private:
  Lease(Connection* connection, const CallOptions& call);
  std::optional<grpc::ByteBuffer> Next() override;
  absl::Status Take(grpc::ByteBuffer* message) override;
  void Done(const Attempt& attempt) override;
  bool HasAnswer() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return is_known_ || is_done_; }

  std::string id_;         // once is_known_
  bool is_asked_ = false;  // the request has been given to gRPC
  mutable absl::Mutex mutex_;
  bool is_known_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  RawStream stream_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_LEASE_H_
