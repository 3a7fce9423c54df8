// Ending calls from another thread.
//
//   corank::client::Cancellation cancellation;
//   call.cancellation = &cancellation;           // CallOptions
//   ...                                          // client.Sort(keys, {}, call) runs; meanwhile elsewhere:
//   cancellation.Cancel();                       // the call returns CANCELLED soon
#ifndef CORANK_CLIENT_CPP_CANCELLATION_H_
#define CORANK_CLIENT_CPP_CANCELLATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace corank::client {

/// Cancels all calls that were given it, those under way and those to come. Thread-safe.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void Cancel();
  bool cancelled() const;

 private:
  friend class CancellationScope;

  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
};

/// For the library: an attempt's contexts while it runs.
class CancellationScope {
 public:
  /// `cancellation` may be null.
  explicit CancellationScope(Cancellation* cancellation) : cancellation_(cancellation) {}
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

  /// From now on to the end of the scope, Cancel ends this context's call. Not thread-safe.
  void Add(grpc::ClientContext* context);
  /// Waits; returns early, with false, once the cancellation is cancelled.
  static bool Sleep(Cancellation* cancellation, absl::Duration time);

 private:
  Cancellation* const cancellation_;
  absl::flat_hash_set<grpc::ClientContext*> contexts_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CANCELLATION_H_
