// Puts waiting requests together for one lease of a lane.
#ifndef CORANK_SERVER_BATCH_BATCHER_H_
#define CORANK_SERVER_BATCH_BATCHER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/execute/task.h"

namespace corank {

/// Where waiting tasks come from. Thread-safe.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// Waits for a task and takes it, and with it, up to `max_tasks` in all, those right behind it for which
  /// joins(first, next) holds. Never waits for a second task, and leaves work for other takers that wait. Empty: there
  /// will be no task any more.
  virtual std::vector<std::unique_ptr<Task>> Take(
      int max_tasks, absl::FunctionRef<bool(const Task& first, const Task& next)> joins) = 0;
};

/// Small requests of one operator share a lease, so that a burst of them costs one hand-over, not one each; the lane
/// runs alike ones as one, others one after the other. Anything larger has a lease of its own. Thread-safe.
class Batcher final : public WorkSource {
 public:
  struct Options {
    /// Most requests of one lease.
    int max_tasks = 64;
    /// A request of at most this many bytes is small.
    int64_t small_bytes = 64 << 10;
  };

  /// `source` must outlive the batcher.
  Batcher(const Options& options, TaskSource* source);

  std::vector<std::unique_ptr<Task>> Next() override;

 private:
  const Options options_;
  TaskSource* const source_;
};

}  // namespace corank

#endif  // CORANK_SERVER_BATCH_BATCHER_H_
