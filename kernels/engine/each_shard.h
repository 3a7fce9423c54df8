// The host's part of work on several devices: a thread for each.
#ifndef CORANK_KERNELS_ENGINE_EACH_SHARD_H_
#define CORANK_KERNELS_ENGINE_EACH_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace corank {

/// Starts a thread that runs the function. std::system_error: the system has no thread left.
std::thread StartThread(std::function<void()> function);

/// Calls work(0) to work(count - 1), each on a thread of its own except the first, and waits for all. Returns the first
/// error. A call to the driver takes microseconds, so one thread for all devices would keep them waiting.
/// RESOURCE_EXHAUSTED, without a call of `work`, if a thread does not start: the others could wait for it at a Barrier.
/// `has_failed` becomes true once a call has returned an error, so that the others can stop.
absl::Status OnEachShard(size_t count,
                         absl::FunctionRef<absl::Status(size_t, const std::atomic<bool>& has_failed)> work,
                         absl::FunctionRef<std::thread(std::function<void()>)> start = StartThread);
/// The same for work that does not stop early, or stops at a Barrier.
absl::Status OnEachShard(size_t count, absl::FunctionRef<absl::Status(size_t)> work,
                         absl::FunctionRef<std::thread(std::function<void()>)> start = StartThread);

/// Lets that many threads wait for each other, again and again.
class Barrier {
 public:
  explicit Barrier(size_t threads) : threads_(threads) {}

  /// Returns to all of them whether each has come with `ok`.
  bool ArriveAndWait(bool ok) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    all_ok_ = all_ok_ && ok;
    const uint64_t round = round_;
    if (++here_ == threads_) {
      here_ = 0;
      ++round_;
      were_ok_ = all_ok_;
      all_ok_ = true;
      changed_.SignalAll();
    }
    while (round == round_) changed_.Wait(&mutex_);
    return were_ok_;
  }

 private:
  const size_t threads_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  size_t here_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  bool all_ok_ ABSL_GUARDED_BY(mutex_) = true;   // so far
  bool were_ok_ ABSL_GUARDED_BY(mutex_) = true;  // the last time
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_EACH_SHARD_H_
