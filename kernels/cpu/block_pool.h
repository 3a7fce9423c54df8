// Large blocks of host memory that requests leave to the next ones: to touch fresh pages takes longer than to copy.
#ifndef CORANK_KERNELS_CPU_BLOCK_POOL_H_
#define CORANK_KERNELS_CPU_BLOCK_POOL_H_

#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/numeric/bits.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cpu/host_memory.h"

namespace corank::cpu {

/// Host memory of any size, of which blocks of HostMemory::kHugeBytes and more are kept for whoever asks for as many
/// bytes next. A block has up to an eighth more than was asked for, which nobody touches and so has no pages.
/// Thread-safe.
class BlockPool {
 public:
  using Clock = std::chrono::steady_clock;
  /// For how long a block is kept that nobody takes.
  static constexpr Clock::duration kKeep = std::chrono::minutes(1);

  /// `max_kept_bytes`: of blocks that nobody has.
  explicit BlockPool(int64_t max_kept_bytes) : max_kept_bytes_(max_kept_bytes) {}
  /// Nobody has a block any more.
  ~BlockPool() { FreeAll(TakeKept(Clock::time_point::max())); }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// 256-byte aligned, not initialised. RESOURCE_EXHAUSTED where the host has no more.
  absl::StatusOr<void*> Allocate(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (bytes < HostMemory::kHugeBytes || bytes > kMostBytes) return HostMemory().Allocate(bytes);
    const int64_t block_bytes = BlockBytes(bytes);
    if (void* const kept = TakeKeptBlock(block_bytes); kept != nullptr) return kept;
    absl::StatusOr<void*> memory = HostMemory().Allocate(block_bytes);
    if (!memory.ok()) {
      FreeAll(TakeKept(Clock::time_point::max()));
      memory = HostMemory().Allocate(block_bytes);
    }
    if (memory.ok()) {
      absl::MutexLock lock(&mutex_);
      taken_.emplace(*memory, block_bytes);
    }
    return memory;
  }

  /// Of Allocate.
  void Free(void* memory) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!Keep(memory)) HostMemory().Free(memory);
  }

  /// Gives the system what nobody has taken for kKeep.
  void Trim(Clock::time_point now = Clock::now()) ABSL_LOCKS_EXCLUDED(mutex_) { FreeAll(TakeKept(now - kKeep)); }

  int64_t kept_bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return kept_bytes_;
  }

 private:
  struct Kept {
    void* memory;
    Clock::time_point since;
  };

  static constexpr int64_t kMostBytes = int64_t{1} << 60;  // no host has more, and sizes of blocks do not overflow

  // Eight sizes between powers of two.
  static int64_t BlockBytes(int64_t bytes) {
    const int64_t step = static_cast<int64_t>(absl::bit_floor(static_cast<uint64_t>(bytes))) / 8;
    return (bytes + step - 1) / step * step;
  }

  static void FreeAll(const std::vector<void*>& blocks) {
    for (void* const block : blocks) HostMemory().Free(block);
  }

  // The last one of that size, whose pages are most likely in the cache; null: there is none.
  void* TakeKeptBlock(int64_t block_bytes) {
    absl::MutexLock lock(&mutex_);
    const auto [first, end] = kept_.equal_range(block_bytes);
    if (first == end) return nullptr;
    const auto last = std::prev(end);
    void* const memory = last->second.memory;
    kept_.erase(last);
    kept_bytes_ -= block_bytes;
    taken_.emplace(memory, block_bytes);
    return memory;
  }

  // Whether it is kept, and not to be freed.
  bool Keep(void* memory) {
    absl::MutexLock lock(&mutex_);
    const auto found = taken_.find(memory);
    if (found == taken_.end()) return false;
    const int64_t block_bytes = found->second;
    taken_.erase(found);
    if (block_bytes > max_kept_bytes_ - kept_bytes_) return false;
    kept_bytes_ += block_bytes;
    kept_.emplace(block_bytes, Kept{memory, Clock::now()});
    return true;
  }

  // Those that were given back until then.
  std::vector<void*> TakeKept(Clock::time_point until) {
    std::vector<void*> blocks;
    absl::MutexLock lock(&mutex_);
    for (auto kept = kept_.begin(); kept != kept_.end();) {
      const auto next = std::next(kept);
      if (kept->second.since <= until) {
        blocks.push_back(kept->second.memory);
        kept_bytes_ -= kept->first;
        kept_.erase(kept);
      }
      kept = next;
    }
    return blocks;
  }

  const int64_t max_kept_bytes_;
  mutable absl::Mutex mutex_;
  std::multimap<int64_t, Kept> kept_ ABSL_GUARDED_BY(mutex_);  // by size; of one size the last one kept behind
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<void*, int64_t> taken_ ABSL_GUARDED_BY(mutex_);  // the sizes of large blocks that are in use
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_BLOCK_POOL_H_
