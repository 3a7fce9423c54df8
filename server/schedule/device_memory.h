// The device memory, and the pinned memory beside the host pool, that admitted work may take.
#ifndef CORANK_SERVER_SCHEDULE_DEVICE_MEMORY_H_
#define CORANK_SERVER_SCHEDULE_DEVICE_MEMORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace corank {

/// Shared by the queues of a server. Work leaves its queue only once its needs fit beside everything that runs on the
/// device. Thread-safe.
class DeviceMemory {
 public:
  static constexpr int kMaxDevices = 64;

  struct Options {
    /// Memory of each device for running work.
    int64_t limit_bytes = std::numeric_limits<int64_t>::max();
    /// Memory that each lane has anyway; work that needs no more does not count.
    int64_t lane_bytes = int64_t{64} << 20;
    /// Replaces limit_bytes, by device, if devices differ.
    std::vector<int64_t> limits;
    /// Pinned memory for running work on all devices together.
    int64_t host_limit_bytes = std::numeric_limits<int64_t>::max();
  };

  explicit DeviceMemory(const Options& options) : options_(options) {}

  int64_t limit_bytes(int device) const {
    const auto index = static_cast<size_t>(device);
    return index < options_.limits.size() ? options_.limits[index] : options_.limit_bytes;
  }
  /// The part of a need that counts.
  int64_t Counted(int64_t bytes) const { return bytes <= options_.lane_bytes ? 0 : bytes; }
  int64_t host_limit_bytes() const { return options_.host_limit_bytes; }
  /// `devices`: a mask, as of DeviceSet. `counted`: on each of them.
  bool Fits(uint64_t devices, int64_t counted, int64_t host_counted) const {
    for (int i = 0; i < kMaxDevices && devices >> i != 0; ++i) {
      if ((devices >> i & 1) != 0 && counted > limit_bytes(i) - used_bytes(i)) return false;
    }
    return host_counted <= host_limit_bytes() - host_used_bytes();
  }
  int64_t used_bytes(int device) const { return used_[static_cast<size_t>(device)].load(); }
  int64_t host_used_bytes() const { return host_used_.load(); }

  /// Takes all or nothing. False: another task took the memory meanwhile.
  bool Take(uint64_t devices, int64_t counted, int64_t host_counted) ABSL_LOCKS_EXCLUDED(take_mutex_) {
    absl::MutexLock lock(&take_mutex_);  // memory that is released meanwhile does no harm
    if (!Fits(devices, counted, host_counted)) return false;
    Add(devices, counted);
    host_used_.fetch_add(host_counted);
    return true;
  }
  /// Notifies all listeners.
  void GiveBack(uint64_t devices, int64_t counted, int64_t host_counted) ABSL_LOCKS_EXCLUDED(mutex_) {
    Add(devices, -counted);
    host_used_.fetch_sub(host_counted);
    absl::MutexLock lock(&mutex_);
    for (const auto& [owner, listener] : listeners_) listener();
  }

  /// `listener` is called on any thread; it must not block or call back.
  void Listen(const void* owner, std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    listeners_.emplace_back(owner, std::move(listener));
  }
  void StopListening(const void* owner) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (auto it = listeners_.begin(); it != listeners_.end();) {
      it = it->first == owner ? listeners_.erase(it) : it + 1;
    }
  }

 private:
  void Add(uint64_t devices, int64_t bytes) {
    for (int i = 0; i < kMaxDevices && devices >> i != 0; ++i) {
      if ((devices >> i & 1) != 0) used_[static_cast<size_t>(i)].fetch_add(bytes);
    }
  }

  const Options options_;
  std::array<std::atomic<int64_t>, kMaxDevices> used_{};
  std::atomic<int64_t> host_used_{0};
  absl::Mutex take_mutex_;
  absl::Mutex mutex_;
  std::vector<std::pair<const void*, std::function<void()>>> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_DEVICE_MEMORY_H_
