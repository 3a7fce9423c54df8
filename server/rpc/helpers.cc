#include "server/rpc/helpers.h"

#include <algorithm>
#include <utility>

namespace corank {

Helpers::Helpers(int count) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Help(); });
}

Helpers::~Helpers() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    wanted_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

int Helpers::CountFor(int cores) { return std::clamp(cores / 2, 4, 8); }

void Helpers::Run(std::function<void()> task) {
  if (threads_.empty()) return task();
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  wanted_.Signal();
}

void Helpers::Help() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    while (tasks_.empty() && !stopping_) wanted_.Wait(&mutex_);
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    mutex_.Unlock();
    task();
    task = nullptr;  // destroys its contents without the lock
    mutex_.Lock();
  }
}

}  // namespace corank
