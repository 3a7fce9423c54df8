// Watches whether an engine's device still works.
#ifndef CORANK_SERVER_RUN_DEVICE_WATCH_H_
#define CORANK_SERVER_RUN_DEVICE_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/engine.h"
#include "server/observe/log.h"

namespace corank {

/// UNAVAILABLE with RetryInfo, for calls whose device is lost. The delay is short if the server has other devices, and
/// otherwise allows for a restart.
absl::Status DeviceLost(bool has_others = false);

/// Learns of an engine's errors, and of calls to it that do not return. Thread-safe. Time passes in ticks from outside,
/// so a process that was suspended finds nothing overdue when it resumes.
class DeviceWatch {
 public:
  struct Options {
    /// The device's index in the server, and its number for callers and logs.
    int device = 0;
    int ordinal = 0;
    /// Whether the server has other devices; unset: no.
    std::function<bool()> has_others;
  };

  /// `on_lost` is called once, with the reason, on the thread that detects the loss; it must not block. The logger must
  /// outlive the watch.
  DeviceWatch(std::function<void(const std::string& reason)> on_lost, const Logger* logger)
      : DeviceWatch(std::move(on_lost), logger, Options()) {}
  DeviceWatch(std::function<void(const std::string& reason)> on_lost, const Logger* logger, Options options)
      : on_lost_(std::move(on_lost)), logger_(logger), options_(std::move(options)) {}

  int device() const { return options_.device; }
  int ordinal() const { return options_.ordinal; }

  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Marks the device as lost. The first call counts.
  void Lose(const std::string& reason);
  /// The status for calls after the loss.
  absl::Status Lost() const { return DeviceLost(options_.has_others && options_.has_others()); }

  /// Converts an engine error into a status for callers. UNAVAILABLE: the device is lost. RESOURCE_EXHAUSTED: with
  /// RetryInfo, and the engine's message goes to the log. Other errors stay as they are.
  absl::Status Judge(const absl::Status& status);

  /// A tick of the clock. The device is lost if a call has not returned for `hang_ticks` ticks; 0: never.
  void Tick(int64_t hang_ticks) ABSL_LOCKS_EXCLUDED(mutex_);

  /// A sequence of calls to the engine, one at a time, used by one thread at a time.
  class Line {
   public:
    explicit Line(DeviceWatch* watch) : watch_(watch) { watch_->Add(this); }
    ~Line() { watch_->Remove(this); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    DeviceWatch& watch() const { return *watch_; }
    void Enter() { entered_.store(watch_->now_.load(std::memory_order_relaxed), std::memory_order_relaxed); }
    void Leave() { entered_.store(kIdle, std::memory_order_relaxed); }

   private:
    friend class DeviceWatch;
    static constexpr int64_t kIdle = -1;

    DeviceWatch* const watch_;
    std::atomic<int64_t> entered_{kIdle};  // the tick in which the call began
  };

 private:
  void Add(Line* line) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(Line* line) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<void(const std::string& reason)> on_lost_;
  const Logger* const logger_;
  const Options options_;
  std::atomic<bool> lost_{false};
  std::atomic<int64_t> now_{0};
  absl::Mutex mutex_;
  std::set<Line*> lines_ ABSL_GUARDED_BY(mutex_);
};

/// The engine with every call under the watch: errors are converted, and nothing new starts on a lost device. The watch
/// must outlive the engine and everything that the engine made. A CPU engine's streams work inside their calls for as
/// long as it takes, so they never count as hanging.
std::unique_ptr<Engine> Watched(std::unique_ptr<Engine> engine, DeviceWatch* watch);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_WATCH_H_
