// Decides whether the server takes new calls.
#ifndef CORANK_SERVER_RPC_GATE_H_
#define CORANK_SERVER_RPC_GATE_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace corank {

/// Thread-safe.
class Gate {
 public:
  /// OK, or the status for a call that arrives now.
  absl::Status Check() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    return refusal_;
  }
  /// The last refusal counts.
  void Close(const absl::Status& refusal) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    refusal_ = refusal;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_GATE_H_
