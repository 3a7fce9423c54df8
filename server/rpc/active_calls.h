// How many operator calls have not ended yet.
#ifndef CORANK_SERVER_RPC_ACTIVE_CALLS_H_
#define CORANK_SERVER_RPC_ACTIVE_CALLS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace corank {

/// Thread-safe.
class ActiveCalls {
 public:
  void Add() { count_.fetch_add(1); }
  void Remove() {
    if (count_.fetch_sub(1) == 1 && armed_.load()) on_none_();
  }
  /// Calls `on_none` now, if there are no calls, and each time the last call ends. May be called once. `on_none` runs
  /// on any thread and must not block.
  void NotifyWhenNone(std::function<void()> on_none) {
    on_none_ = std::move(on_none);
    armed_.store(true);
    if (count_.load() == 0) on_none_();
  }
  int64_t count() const { return count_.load(); }

 private:
  std::atomic<int64_t> count_{0};
  std::atomic<bool> armed_{false};
  std::function<void()> on_none_;  // not changed once armed_ is true
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ACTIVE_CALLS_H_
