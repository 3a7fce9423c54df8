// Lanes: each owns what one batch needs (a stream with its memory, and a thread) and works on one batch at a time.
#ifndef CORANK_SERVER_EXECUTE_LANE_POOL_H_
#define CORANK_SERVER_EXECUTE_LANE_POOL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/execute/task.h"
#include "server/observe/clock.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace corank {

class LanePool final : public DirectRunner {
 public:
  struct Options {
    /// Batches that run at the same time, 1 or more.
    int lanes = 4;
    /// Called once, on a lane's thread, when the engine says that its device is lost. Must not block.
    std::function<void()> on_device_lost;
  };

  /// All pointees must outlive the pool. Starts the threads.
  static absl::StatusOr<std::unique_ptr<LanePool>> Create(Options options, Engine* engine, WorkSource* source,
                                                          const Clock* clock, Metrics* metrics, const Logger* logger);
  /// Waits until every lane found no more work: close the work source before.
  ~LanePool() override;

  /// On a lane of its own that has no thread. One call at a time.
  void RunDirectly(std::unique_ptr<Task> task) override;

 private:
  LanePool(Options options, Engine* engine, WorkSource* source, const Clock* clock, Metrics* metrics,
           const Logger* logger);

  class LaneStreams;

  void RunLane(LaneStreams& lane);
  void RunBatch(LaneStreams& lane, std::vector<std::unique_ptr<Task>>& batch);
  void RunTask(LaneStreams& lane, Task& task, int batch_size);
  // Runs the first `count` tasks, which fuse, as one.
  void RunFused(LaneStreams& lane, absl::Span<const std::unique_ptr<Task>> tasks, int batch_size);
  void Begin(const Task& task, int batch_size, Outcome& outcome) const;
  void End(Task& task, const absl::Status& status, Outcome& outcome) const;
  absl::Status Work(LaneStreams& lane, Task& task, Outcome& outcome);
  absl::Status FromEngine(const absl::Status& status);

  const Options options_;
  Engine* const engine_;
  const EngineInfo info_;
  WorkSource* const source_;
  const Clock* const clock_;
  Metrics* const metrics_;
  const Logger* const logger_;
  std::atomic<bool> device_lost_{false};
  std::vector<std::unique_ptr<LaneStreams>> lanes_;
  std::unique_ptr<LaneStreams> direct_lane_;
  std::vector<std::thread> threads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_LANE_POOL_H_
