#include "server/rpc/helpers.h"

#include <algorithm>
#include <utility>

namespace corank {

Helpers::Helpers(int count) : most_of_tenant_(std::max(1, count / 2)) {
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

void Helpers::Run(const std::string& tenant, Task task) {
  if (threads_.empty()) return task();
  absl::MutexLock lock(&mutex_);
  Add(lines_[tenant], std::move(task));
}

bool Helpers::TryRun(const std::string& tenant, Task task) {
  if (threads_.empty()) {
    task();
    return true;
  }
  absl::MutexLock lock(&mutex_);
  Line& line = lines_[tenant];
  if (line.waiting.size() >= kMostWaiting) return false;
  Add(line, std::move(task));
  return true;
}

void Helpers::Add(Line& line, Task task) {
  line.waiting.push_back(std::move(task));
  wanted_.Signal();
}

Helpers::Lines::iterator Helpers::Next() {
  const auto may_run = [this](const auto& line) { return MayRun(line.second); };
  const auto found = std::find_if(lines_.upper_bound(last_), lines_.end(), may_run);
  return found != lines_.end() ? found : std::find_if(lines_.begin(), lines_.end(), may_run);
}

void Helpers::Help() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    Lines::iterator line = Next();
    if (line == lines_.end()) {
      // A helper that still works takes what waits for its end.
      if (stopping_) return;
      wanted_.Wait(&mutex_);
      continue;
    }
    last_ = line->first;
    ++line->second.running;
    Task task = std::move(line->second.waiting.front());
    line->second.waiting.pop_front();
    mutex_.Unlock();
    task();
    task = nullptr;  // destroys its contents without the lock
    mutex_.Lock();
    --line->second.running;
    if (line->second.waiting.empty() && line->second.running == 0) lines_.erase(line);
  }
}

}  // namespace corank
