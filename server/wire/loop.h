// A thread that waits for sockets, times and tasks, and runs what each of them asks for. Nothing that runs on it waits.
#ifndef CORANK_SERVER_WIRE_LOOP_H_
#define CORANK_SERVER_WIRE_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"

namespace corank::wire {

/// What a loop calls when a socket is ready. Called on the loop's thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// `events`: EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP.
  virtual void OnReady(uint32_t events) = 0;
};

/// Run and Post are thread-safe; everything else belongs to the loop's thread.
class Loop {
 public:
  using Task = absl::AnyInvocable<void()>;
  using Timers = std::multimap<Instant, Task>;
  using Timer = Timers::iterator;
  struct Waiting {
    size_t bytes;
    Task task;
  };
  using Place = std::list<Waiting>::iterator;

  /// Bytes that a loop's connections read at a time.
  static constexpr size_t kBufferBytes = size_t{256} << 10;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Ends the thread, which must not be the caller's. Tasks that were not run, and later ones, are dropped.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Runs the task on the loop's thread: at once if this is that thread, soon otherwise.
  template <typename Function>
  void Run(Function task) {
    if (IsCurrent()) return task();
    Post(std::move(task));
  }
  /// Runs the task on the loop's thread, soon.
  void Post(Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsCurrent() const { return std::this_thread::get_id() == thread_.get_id(); }

  /// The watcher lives until Forget and the end of the round in which that is called.
  void Watch(int fd, uint32_t events, Watcher* watcher);
  void Change(int fd, uint32_t events, Watcher* watcher);
  void Forget(int fd, std::shared_ptr<Watcher> watcher);

  Timer At(Instant time, Task task) { return timers_.emplace(time, std::move(task)); }
  /// Nothing if the timer is not set.
  void Cancel(Timer timer) {
    if (timer != timers_.end()) timers_.erase(timer);
  }
  /// A timer that is not set.
  Timer NoTimer() { return timers_.end(); }

  /// Runs the task once the sockets of this round were read, in turn with further reads if there is much to run. So
  /// what waits here waits where its age is known, and not in a socket. `bytes`: of the memory that it holds.
  Place AfterReads(size_t bytes, Task task);
  /// Drops such a task, which has not begun.
  void Withdraw(Place place);
  /// Whether sockets should be read: false while such tasks hold much memory.
  bool MayRead() const { return waiting_bytes_ < kMostWaitingBytes; }
  /// How long a task would wait in AfterReads from now on, by the rate at which such tasks ran lately.
  std::chrono::nanoseconds Wait() const { return task_time_ * static_cast<int64_t>(waiting_.size()); }

  /// Runs the task when all that is ready in this round was handled.
  void AtEndOfRound(Task task) { ending_.push_back(std::move(task)); }

  /// The time at which this round began.
  Instant now() const { return now_; }
  /// What is read in this round has come after this time, except where more had come than one read takes.
  Instant came_since() const { return came_since_; }
  char* buffer() { return buffer_.get(); }

 private:
  static constexpr size_t kMostWaitingBytes = size_t{16} << 20;

  void Serve();
  void RunPosted() ABSL_LOCKS_EXCLUDED(mutex_);
  void RunTimers();
  void RunWaiting();
  int MillisecondsToWait() const;

  const int epoll_;
  const int wake_;
  const std::unique_ptr<char[]> buffer_;
  Instant now_, came_since_;
  Timers timers_;
  std::list<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  std::chrono::nanoseconds task_time_{0};  // of one of them, with its part of the reads in between
  Instant ran_;                            // when they ran last
  bool is_behind_ = false;                 // whether some waited on then
  std::vector<Task> ending_;
  std::vector<std::shared_ptr<Watcher>> forgotten_;  // an event of this round may still name them
  bool stopping_ = false;
  std::atomic<bool> is_woken_{false};
  absl::Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_LOOP_H_
