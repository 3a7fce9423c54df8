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
#include "kernels/engine/engine.h"
#include "server/execute/task.h"
#include "server/observe/clock.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace corank {

class LanePool {
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
  ~LanePool();

 private:
  LanePool(Options options, Engine* engine, WorkSource* source, const Clock* clock, Metrics* metrics,
           const Logger* logger);

  class LaneStreams;

  void RunLane(LaneStreams& lane);
  void RunTask(LaneStreams& lane, Task& task, int batch_size);
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
  std::vector<std::thread> threads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_LANE_POOL_H_
