// Puts waiting requests together for one lease of a lane.
#ifndef CORANK_SERVER_BATCH_BATCHER_H_
#define CORANK_SERVER_BATCH_BATCHER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "server/execute/task.h"

namespace corank {

/// How much one lease may hold.
struct BatchRule {
  int max_tasks = 1;
  /// Of all messages of a batch together; a single task may have more.
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
  /// How long the first may wait for others while a lane is free.
  absl::Duration delay = absl::ZeroDuration();
};

/// Where waiting tasks come from. Thread-safe.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// Waits for a task that `device` may run and takes it, and with it, as far as the rule allows, those right behind it
  /// for which joins(first, next) holds. Waits for a second task only as long as the rule says, and leaves work for
  /// other takers that wait. Empty: there will be no such task any more.
  virtual std::vector<std::unique_ptr<Task>> Take(
      int device, const BatchRule& rule, absl::FunctionRef<bool(const Task& first, const Task& next)> joins) = 0;
};

/// Small requests of one operator share a lease, so that a burst of them costs one hand-over, not one each; the lane
/// runs alike ones as one, others one after the other. Anything larger has a lease of its own. Thread-safe.
class Batcher final : public WorkSource {
 public:
  struct Options {
    /// Most requests of one lease.
    int max_tasks = 64;
    /// A request is small whose arrays, wherever they are, have at most this many bytes.
    int64_t small_bytes = 64 << 10;
    /// Most bytes of the messages of one lease.
    int64_t max_bytes = int64_t{1} << 20;
    /// How long a small request may wait for others while a lane is free. 0: never.
    absl::Duration delay = absl::ZeroDuration();
  };

  /// `source` must outlive the batcher.
  Batcher(const Options& options, TaskSource* source);

  std::vector<std::unique_ptr<Task>> Next(int device) override;

 private:
  const Options options_;
  TaskSource* const source_;
};

}  // namespace corank

#endif  // CORANK_SERVER_BATCH_BATCHER_H_
