// Ends calls from another thread.
//
//   corank::client::Cancellation cancellation;
//   corank::client::CallOptions call;
//   call.cancellation = &cancellation;
//   client.Sort(keys, {}, call);   // in one thread
//   cancellation.Cancel();         // in another thread: Sort soon returns CANCELLED
#ifndef CORANK_CANCELLATION_H_
#define CORANK_CANCELLATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace grpc {
class ClientContext;
}

namespace corank::client {

/// Cancels every call whose CallOptions name it: calls that run, and calls that start later. It must outlive those
/// calls. Thread-safe.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  /// Returns immediately. The calls return CANCELLED within about half a second; the server stops their work.
  void Cancel();
  /// Whether Cancel was called.
  bool cancelled() const;

 private:
  friend class CancellationScope;

  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CANCELLATION_H_
