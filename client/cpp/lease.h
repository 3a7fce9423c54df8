// A lease: the regions registered with it end when this process does.
#ifndef CORANK_CLIENT_CPP_LEASE_H_
#define CORANK_CLIENT_CPP_LEASE_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// An OpenLease call that stays open for as long as this lives. Thread-safe.
class Lease final : private grpc::ClientReadReactor<v1::OpenLeaseResponse> {
 public:
  /// Waits for the server's answer. UNIMPLEMENTED where the server has no regions.
  static absl::StatusOr<std::unique_ptr<Lease>> Open(Connection* connection, absl::Time deadline,
                                                     const CallOptions& call);
  ~Lease() override;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::string& id() const { return id_; }
  /// False once the server has ended it, and with it its regions.
  bool is_open() const;

 private:
  Lease(Connection* connection, const CallOptions& call);
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::unique_ptr<v1::MemoryService::Stub> stub_;
  grpc::ClientContext context_;
  const v1::OpenLeaseRequest request_;
  v1::OpenLeaseResponse response_;
  std::string id_;  // once is_known_
  mutable absl::Mutex mutex_;
  bool is_known_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_LEASE_H_
