#include "server/wire/loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace corank::wire {
namespace {

// A call of epoll_wait that takes longer has waited.
constexpr std::chrono::microseconds kWaited(200);
constexpr int kEventsAtOnce = 256;
// Tasks run this long before sockets are read again.
constexpr std::chrono::microseconds kRunTime(500);
constexpr int kTimesAveraged = 8;
// Longer waits end earlier, for timers that are far away.
constexpr std::chrono::milliseconds kLongestWait = std::chrono::seconds(10);

// A server makes its loops at its start, where nothing can go on without them.
int MakeOrDie(int fd) {
  if (fd >= 0) return fd;
  std::perror("cannot make an event loop");
  std::abort();
}

}  // namespace

Loop::Loop()
    : epoll_(MakeOrDie(epoll_create1(EPOLL_CLOEXEC))),
      wake_(MakeOrDie(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      buffer_(new char[kBufferBytes]),
      now_(std::chrono::steady_clock::now()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { Serve(); });
}

Loop::~Loop() {
  Stop();
  close(wake_);
  close(epoll_);
}

void Loop::Stop() {
  if (!thread_.joinable()) return;
  Post([this] { stopping_ = true; });
  thread_.join();
  std::vector<Task> dropped;  // without the lock
  {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
    dropped.swap(posted_);
  }
  timers_.clear();
  waiting_.clear();
}

void Loop::Post(Task task) {
  {
    absl::MutexLock lock(&mutex_);
    if (is_over_) return;
    posted_.push_back(std::move(task));
  }
  if (is_woken_.exchange(true)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void Loop::Watch(int fd, uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Loop::Change(int fd, uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::Forget(int fd, std::shared_ptr<Watcher> watcher) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  forgotten_.push_back(std::move(watcher));
}

Loop::Place Loop::AfterReads(size_t bytes, Task task) {
  waiting_bytes_ += bytes;
  return waiting_.insert(waiting_.end(), {bytes, std::move(task)});
}

void Loop::Withdraw(Place place) {
  waiting_bytes_ -= place->bytes;
  waiting_.erase(place);
}

int Loop::MillisecondsToWait() const {
  if (!waiting_.empty()) return 0;
  if (timers_.empty()) return static_cast<int>(kLongestWait.count());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - now_);
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kLongestWait).count());
}

void Loop::RunPosted() {
  is_woken_ = false;
  std::vector<Task> tasks;
  {
    absl::MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) task();
}

void Loop::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
}

void Loop::RunWaiting() {
  if (waiting_.empty()) return;
  const Instant begin = std::chrono::steady_clock::now();
  const Instant since = std::exchange(is_behind_, false) ? ran_ : begin;
  int64_t count = 0;
  do {
    Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= first.bytes;
    first.task();
    ++count;
    ran_ = std::chrono::steady_clock::now();
  } while (!waiting_.empty() && ran_ < begin + kRunTime);
  is_behind_ = !waiting_.empty();
  task_time_ += ((ran_ - since) / count - task_time_) / kTimesAveraged;
}

void Loop::Serve() {
  // OpenSSL writes without MSG_NOSIGNAL.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::array<epoll_event, kEventsAtOnce> events;
  while (!stopping_) {
    const Instant before = std::chrono::steady_clock::now();
    const int count = epoll_wait(epoll_, events.data(), kEventsAtOnce, MillisecondsToWait());
    const Instant last_round = std::exchange(now_, std::chrono::steady_clock::now());
    // Who has waited has waited for something that was not there before.
    came_since_ = now_ - before >= kWaited ? now_ : last_round;
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr != nullptr) {
        static_cast<Watcher*>(events[i].data.ptr)->OnReady(events[i].events);
        continue;
      }
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t bytes = read(wake_, &wakes, sizeof wakes);
    }
    RunPosted();
    RunTimers();
    RunWaiting();
    // What ends a round may ask for another end of this round.
    for (size_t i = 0; i < ending_.size(); ++i) Task(std::move(ending_[i]))();
    ending_.clear();
    forgotten_.clear();
  }
}

}  // namespace corank::wire
