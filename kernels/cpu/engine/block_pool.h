// Large blocks of host memory that requests leave to later ones, because touching fresh pages takes longer than
// copying.
#ifndef CORANK_KERNELS_CPU_ENGINE_BLOCK_POOL_H_
#define CORANK_KERNELS_CPU_ENGINE_BLOCK_POOL_H_

#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/numeric/bits.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cpu/engine/host_memory.h"
#include "kernels/engine/budget.h"

namespace corank::cpu {

/// Host memory of any size. Keeps freed blocks of HostMemory::kHugeBytes and more for a later request of the same size.
/// A block may be up to an eighth larger than requested; nobody touches the surplus, so it has no pages. Thread-safe.
class BlockPool {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long the pool keeps an unused block.
  static constexpr Clock::duration kKeep = std::chrono::minutes(1);

  /// `kept` counts the unused blocks beside other memory. They have half of it at most.
  explicit BlockPool(std::shared_ptr<Budget> kept) : kept_budget_(std::move(kept)), counted_(kept_budget_->Nothing()) {}
  /// All blocks must have been freed.
  ~BlockPool() { FreeAll(TakeKept(Clock::time_point::max())); }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// 256-byte aligned, uninitialised. RESOURCE_EXHAUSTED if the host has no more memory.
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

  /// Frees memory from Allocate.
  void Free(void* memory) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!Keep(memory)) HostMemory().Free(memory);
  }

  /// Returns blocks to the system that were unused for kKeep.
  void Trim(Clock::time_point now = Clock::now()) ABSL_LOCKS_EXCLUDED(mutex_) { FreeAll(TakeKept(now - kKeep)); }

  int64_t kept_bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return counted_.bytes();
  }

 private:
  struct Kept {
    void* memory;
    Clock::time_point since;
  };

  static constexpr int64_t kMostBytes = int64_t{1} << 60;  // more than any host has; no block size overflows

  // There are eight sizes between two powers of two.
  static int64_t BlockBytes(int64_t bytes) {
    const int64_t step = static_cast<int64_t>(absl::bit_floor(static_cast<uint64_t>(bytes))) / 8;
    return (bytes + step - 1) / step * step;
  }

  static void FreeAll(const std::vector<void*>& blocks) {
    for (void* const block : blocks) HostMemory().Free(block);
  }

  // The block of this size that was freed last, whose pages are most likely in the cache; null if there is none.
  void* TakeKeptBlock(int64_t block_bytes) {
    absl::MutexLock lock(&mutex_);
    const auto [first, end] = kept_.equal_range(block_bytes);
    if (first == end) return nullptr;
    const auto last = std::prev(end);
    void* const memory = last->second.memory;
    kept_.erase(last);
    counted_.Resize(counted_.bytes() - block_bytes);
    taken_.emplace(memory, block_bytes);
    return memory;
  }

  // Returns whether the pool keeps the block, so that the caller must not free it.
  bool Keep(void* memory) {
    absl::MutexLock lock(&mutex_);
    const auto found = taken_.find(memory);
    if (found == taken_.end()) return false;
    const int64_t block_bytes = found->second;
    taken_.erase(found);
    const int64_t kept_bytes = counted_.bytes() + block_bytes;
    if (kept_bytes > kept_budget_->limit() / 2 || !counted_.Resize(kept_bytes)) return false;
    kept_.emplace(block_bytes, Kept{memory, Clock::now()});
    return true;
  }

  // Takes the blocks that were freed up to that time.
  std::vector<void*> TakeKept(Clock::time_point until) {
    std::vector<void*> blocks;
    absl::MutexLock lock(&mutex_);
    for (auto kept = kept_.begin(); kept != kept_.end();) {
      const auto next = std::next(kept);
      if (kept->second.since <= until) {
        blocks.push_back(kept->second.memory);
        counted_.Resize(counted_.bytes() - kept->first);
        kept_.erase(kept);
      }
      kept = next;
    }
    return blocks;
  }

  const std::shared_ptr<Budget> kept_budget_;
  mutable absl::Mutex mutex_;
  std::multimap<int64_t, Kept> kept_ ABSL_GUARDED_BY(mutex_);  // by size; within a size, the last one freed comes last
  Budget::Reservation counted_ ABSL_GUARDED_BY(mutex_);        // of the kept blocks
  std::unordered_map<void*, int64_t> taken_ ABSL_GUARDED_BY(mutex_);  // the sizes of large blocks in use
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_ENGINE_BLOCK_POOL_H_
