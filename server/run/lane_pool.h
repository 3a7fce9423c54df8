// Lanes. Each owns the resources of one batch (a stream with its memory, and a thread) and works on one batch at a
// time.
#ifndef CORANK_SERVER_RUN_LANE_POOL_H_
#define CORANK_SERVER_RUN_LANE_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/base/clock.h"
#include "server/memory/device_set.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/run/batched_ops.h"
#include "server/run/device_watch.h"
#include "server/run/task.h"

namespace corank {

/// The lanes of one device, or of the host, for one kind of work. Not thread-safe where nothing else is said.
class LanePool final {
 public:
  struct Options {
    /// Batches that run at the same time; 0: the pool only runs tasks directly.
    int lanes = 4;
    /// Most additional lanes, which exist only while as many others stall because of their callers.
    int spares = 0;
    LaneKind kind = LaneKind::kShort;
    /// Whether this pool is the host's CPU beside the devices. It does not hang, so Abandon need not know its tasks,
    /// and its work is too brief to count as busy lanes.
    bool on_host = false;
    /// The device whose work the lanes take, and its number for callers.
    int device = 0;
    int ordinal = 0;
    /// All devices of the server, for work that several of them share; null: there is one. Outlives the pool.
    const DeviceSet* devices = nullptr;
    /// The device's watch: work ends as soon as the device is lost. Null: it is never lost. Outlives the pool.
    const DeviceWatch* watch = nullptr;
    /// Whether small requests of a batch share one round trip to the device; unset: only on a GPU. A CPU has no round
    /// trips, and should answer the first request before it begins the next.
    std::optional<bool> together;
    /// Called on a lane's thread when a request finds no memory: frees what idle lanes keep. It must not wait for
    /// lanes.
    std::function<void()> free_idle;
  };

  /// All pointees must outlive the pool. `source` may be null without lanes. Starts the threads.
  static absl::StatusOr<std::unique_ptr<LanePool>> Create(Options options, Engine* engine, WorkSource* source,
                                                          const Clock* clock, Metrics* metrics, const Logger* logger);
  /// Waits until every lane finds no more work, so close the work source first. Nothing else may use the pool
  /// meanwhile.
  ~LanePool();

  /// Runs the task on a lane without a thread; each concurrent call has its own. Thread-safe.
  void RunDirectly(std::unique_ptr<Task> task) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Answers the callers of all tasks on lanes that use this device, because the lanes may never return. Thread-safe.
  void Abandon(int device, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Lets lanes that were idle since the last call free memory, or all that are idle now. Thread-safe; waits for no
  /// lane.
  enum class Idle : uint8_t { kForAWhile, kNow };
  void Trim(Idle idle = Idle::kForAWhile);

 private:
  LanePool(Options options, Engine* engine, WorkSource* source, const Clock* clock, Metrics* metrics,
           const Logger* logger);

  class LaneStreams;

  void RunLane(LaneStreams& lane);
  // Runs batches on a spare lane while at least as many lanes stall as spares run.
  void RunSpare();
  void SetStalled(bool stalled);
  // Takes a lane for RunDirectly. Return it with PutBackDirectLane.
  absl::StatusOr<LaneStreams*> TakeDirectLane() ABSL_LOCKS_EXCLUDED(direct_mutex_);
  void PutBackDirectLane(LaneStreams* lane) ABSL_LOCKS_EXCLUDED(direct_mutex_);
  // Takes one batch and runs it. False: there is no more work.
  bool RunNext(LaneStreams& lane, bool is_spare);
  void RunBatch(LaneStreams& lane, std::vector<std::unique_ptr<Task>>& batch);
  void RunTask(LaneStreams& lane, Task& task, int batch_size);
  // Runs tasks in one round trip to the device: `execute` is a function of batched_ops.h.
  void RunMembers(LaneStreams& lane, absl::Span<const std::unique_ptr<Task>> tasks, int batch_size,
                  void (*execute)(EngineStream& stream, absl::Span<BatchMember> members));
  // Whether the caller still wants the task. Ends the task if not.
  bool BeginWanted(LaneStreams& lane, Task& task, int batch_size, Outcome& outcome);
  absl::Status RetryOnce(LaneStreams& lane, Task& task, Outcome& outcome, const absl::Status& first);
  void Begin(Task& task, int batch_size, Outcome& outcome);
  void End(Task& task, const absl::Status& status, Outcome& outcome, Stage next);
  absl::Status Work(LaneStreams& lane, Task& task, Outcome& outcome);
  absl::Status FromEngine(const absl::Status& status);

  const Options options_;
  Engine* const engine_;
  const EngineInfo info_;
  WorkSource* const source_;
  const Clock* const clock_;
  Metrics* const metrics_;
  const Logger* const logger_;
  absl::Mutex mutex_;
  absl::flat_hash_set<Task*> on_lanes_ ABSL_GUARDED_BY(mutex_);  // begun and not done
  // Numbers of running and of ended tasks. They change before mutex_ is taken for the end of a task, so that a thread
  // that waits for a change sees it. (Tasks of the host's CPU do not take mutex_; one that finds no memory there waits
  // as long as it may.)
  std::atomic<int> running_{0};
  std::atomic<int64_t> ends_{0};
  int stalled_ ABSL_GUARDED_BY(mutex_) = 0;                                                // lanes
  int spares_ ABSL_GUARDED_BY(mutex_) = 0;                                                 // running spare lanes
  absl::flat_hash_set<std::shared_ptr<LaneStreams>> spare_lanes_ ABSL_GUARDED_BY(mutex_);  // the spare lanes' streams
  std::vector<std::thread> spare_threads_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread::id> ended_spares_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<LaneStreams>> lanes_;
  absl::Mutex direct_mutex_;
  std::vector<std::unique_ptr<LaneStreams>> direct_lanes_ ABSL_GUARDED_BY(direct_mutex_);
  std::vector<LaneStreams*> free_direct_lanes_
      ABSL_GUARDED_BY(direct_mutex_);  // last used, first taken: its memory is in a cache
  std::vector<std::thread> threads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_LANE_POOL_H_
