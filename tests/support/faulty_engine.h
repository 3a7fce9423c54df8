// An engine in which any call can be made to fail.
#ifndef CORANK_TESTS_SUPPORT_FAULTY_ENGINE_H_
#define CORANK_TESTS_SUPPORT_FAULTY_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/forwarding_engine.h"

namespace corank::testing {

/// The plan for one engine and all its streams: a call that fails, or that first waits for an action of the test.
/// Thread-safe.
class FaultPlan {
 public:
  /// The n-th call from now on (from 1) fails with `status` and does nothing. If `stays`, or with UNAVAILABLE, all
  /// later calls fail too. n of 0: no call fails from now on.
  void FailCall(int64_t n, const absl::Status& status, bool stays = false) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The call that failed, such as "Upload". Empty until one fails.
  std::string failed() const ABSL_LOCKS_EXCLUDED(mutex_);

  /// `action` runs once, before the n-th call of this name from now on (from 1), on the calling thread. Example of a
  /// name: "Merge".
  void AtCall(const std::string& call, int64_t n, std::function<void()> action) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The number of calls of that name since AtCall.
  int64_t calls() const ABSL_LOCKS_EXCLUDED(mutex_);

  /// From now on, streams wait in Begin until Release.
  void Hold() ABSL_LOCKS_EXCLUDED(mutex_);
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Waits until a stream waits in Begin.
  void AwaitHeld() ABSL_LOCKS_EXCLUDED(mutex_);

  /// The engine calls it before each of its calls.
  absl::Status Enter(const std::string& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Blocks of EngineMemory that exist.
  void AddBlocks(int64_t blocks) ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t blocks() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status FailIfPlanned(const std::string& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  int64_t calls_left_ ABSL_GUARDED_BY(mutex_) = 0;  // calls until one fails; 0: none will
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::string failed_ ABSL_GUARDED_BY(mutex_);
  bool stays_ ABSL_GUARDED_BY(mutex_) = false;
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;  // every call fails
  std::string action_call_ ABSL_GUARDED_BY(mutex_);
  int64_t action_at_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t action_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> action_ ABSL_GUARDED_BY(mutex_);
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t blocks_ ABSL_GUARDED_BY(mutex_) = 0;
};

/// `engine`, subject to the plan.
std::unique_ptr<Engine> Faulty(std::unique_ptr<Engine> engine, std::shared_ptr<FaultPlan> plan);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_FAULTY_ENGINE_H_
