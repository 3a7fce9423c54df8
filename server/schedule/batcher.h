// Groups waiting requests into one lease of a lane.
#ifndef CORANK_SERVER_SCHEDULE_BATCHER_H_
#define CORANK_SERVER_SCHEDULE_BATCHER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "server/run/task.h"

namespace corank {

/// Limits of one lease.
struct BatchRule {
  int max_tasks = 1;
  /// Most bytes of all messages in a batch together; a single task may exceed it.
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
  /// How long the first task may wait for others while a lane is free.
  absl::Duration delay = absl::ZeroDuration();
};

/// A source of waiting tasks. Thread-safe.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// Waits for a task that `device` may run and takes it, together with directly following ones for which joins(first,
  /// next) holds, within the rule. Waits for a second task only as long as the rule allows, and leaves work for other
  /// waiting takers. Empty: there will be no more such tasks.
  virtual std::vector<std::unique_ptr<Task>> Take(
      int device, const BatchRule& rule, absl::FunctionRef<bool(const Task& first, const Task& next)> joins) = 0;
};

/// Small requests of one operator share a lease, so a burst of them costs one hand-off instead of one each. The lane
/// runs similar ones together and others one after another. Larger requests have a lease of their own. Thread-safe.
class Batcher final : public WorkSource {
 public:
  struct Options {
    /// Most requests in one lease.
    int max_tasks = 64;
    /// A request is small if its arrays, wherever they are, have at most this many bytes.
    int64_t small_bytes = 64 << 10;
    /// Most bytes of messages in one lease.
    int64_t max_bytes = int64_t{1} << 20;
    /// How long a small request may wait for others while a lane is free; 0: not at all.
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

#endif  // CORANK_SERVER_SCHEDULE_BATCHER_H_
