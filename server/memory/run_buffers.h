// Host memory for runs, which out-of-core requests pass on to later ones.
#ifndef CORANK_SERVER_MEMORY_RUN_BUFFERS_H_
#define CORANK_SERVER_MEMORY_RUN_BUFFERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/engine.h"

namespace corank {

/// Pinned buffers of exactly the requested size. Similar requests need the same sizes again, and a driver takes longer
/// to pin and unpin memory than a GPU takes to sort it. HostPool does not fit, because it rounds sizes: admission
/// counts the memory of runs to the byte. Thread-safe. All engines must outlive it.
class RunBuffers : public std::enable_shared_from_this<RunBuffers> {
 public:
  struct Options {
    /// Most bytes of used and idle buffers together. It limits idle buffers only: used ones may exceed it.
    int64_t max_bytes = int64_t{8} << 30;
    /// Most bytes of idle buffers.
    int64_t max_kept_bytes = int64_t{8} << 30;
  };

  static std::shared_ptr<RunBuffers> Create(const Options& options);

  /// `bytes` bytes (1 or more), uninitialized. Freed when the last copy of the pointer is destroyed, on any thread.
  /// Without an idle buffer, allocates from `engine`; RESOURCE_EXHAUSTED if that has no more.
  absl::StatusOr<std::shared_ptr<void>> Take(Engine& engine, int64_t bytes);

  /// Frees the buffers that stayed idle since the last call.
  void Trim();

  int64_t bytes_in_use() const;
  int64_t kept_bytes() const;
  /// Number of allocations from engines.
  int64_t allocations() const;

 private:
  using Memory = std::unique_ptr<EngineMemory>;
  struct Kept {
    Memory memory;
    int64_t since = 0;  // number of Trim calls before
  };

  explicit RunBuffers(const Options& options) : options_(options) {}
  // The most recently used buffer of that size; null: none.
  Memory TakeKept(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a buffer as used. Returns the idle buffers that make room for it; the caller frees them without the lock.
  std::vector<Memory> MakeRoom(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Memory> TakeAllKept() ABSL_LOCKS_EXCLUDED(mutex_);
  Memory TakeOut(std::multimap<int64_t, Kept>::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(EngineMemory* memory, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  std::multimap<int64_t, Kept> kept_ ABSL_GUARDED_BY(mutex_);  // by size; the most recently used buffer of a size last
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t allocations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t trims_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_RUN_BUFFERS_H_
