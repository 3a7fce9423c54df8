// The canary: periodic small sorts that reveal early that a device fails or hangs.
#ifndef CORANK_SERVER_RUN_CANARY_H_
#define CORANK_SERVER_RUN_CANARY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/engine/engine.h"
#include "server/observe/log.h"
#include "server/run/device_watch.h"

namespace corank {

/// Sorts a few keys every interval and checks the answer. Four times a second it also sends an empty request, which
/// reveals a corrupted context. It has its own stream and takes no lane, so no request ever waits for it. A second
/// thread, which never calls the engine, detects an overdue sort and gives the watch its ticks.
class Canary {
 public:
  struct Options {
    /// Time from one sort to the next; 0: no canary, and hangs go unnoticed.
    absl::Duration interval = absl::Seconds(5);
    /// A sort that takes longer counts as failed until it ends.
    absl::Duration timeout = absl::Seconds(10);
    /// The device is lost if a call to the engine takes longer; 0: never.
    absl::Duration hang_timeout = absl::Minutes(1);
  };

  /// Sorts once; returns the error if that fails. `on_change` is called with whether the device works, each time that
  /// changes, first from true to false, on any thread; it must not block. All pointees must outlive the canary.
  static absl::StatusOr<std::unique_ptr<Canary>> Create(const Options& options, Engine* engine, DeviceWatch* watch,
                                                        const Logger* logger, std::function<void(bool good)> on_change);
  /// Waits for the threads: forever if the engine hangs.
  ~Canary();

  /// Starts the threads. Call it once. Does nothing if the interval is 0.
  void Start();

 private:
  Canary(const Options& options, std::unique_ptr<EngineStream> stream, DeviceWatch* watch, const Logger* logger,
         std::function<void(bool good)> on_change);

  void Sing() ABSL_LOCKS_EXCLUDED(mutex_);
  void Guard() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SortOnce();
  absl::Status Pulse();
  // Runs one request, which `timeout` limits.
  absl::Status Run(absl::Status (Canary::*request)()) ABSL_LOCKS_EXCLUDED(mutex_);
  // Logs and reports a change of `good`, with the reason.
  void Report(bool good, absl::string_view reason) ABSL_LOCKS_EXCLUDED(mutex_, report_mutex_);
  bool SleepUnlessEnded(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const std::unique_ptr<EngineStream> stream_;
  DeviceWatch* const watch_;
  const Logger* const logger_;
  const std::function<void(bool good)> on_change_;
  DeviceWatch::Line line_;
  uint32_t seed_ = 1;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool runs_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t ticks_ ABSL_GUARDED_BY(mutex_) = 0;  // since the request began
  absl::Mutex report_mutex_;
  bool good_ ABSL_GUARDED_BY(report_mutex_) = true;
  std::thread singer_, guard_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_CANARY_H_
