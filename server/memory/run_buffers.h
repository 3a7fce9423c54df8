// Host memory of runs, which requests that work out of core leave to the next ones.
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

/// Pinned buffers of just the size that is asked for: requests of one kind ask for the same ones again, and a driver
/// takes longer to pin memory, and to take it back, than a GPU to sort it. Not a HostPool, whose sizes are rounded:
/// what runs take is counted to the byte when their request is admitted. Thread-safe. All engines outlive it.
class RunBuffers : public std::enable_shared_from_this<RunBuffers> {
 public:
  struct Options {
    /// Most bytes in use and kept together, as far as those in use leave room.
    int64_t max_bytes = int64_t{8} << 30;
    /// Most bytes that are kept.
    int64_t max_kept_bytes = int64_t{8} << 30;
  };

  static std::shared_ptr<RunBuffers> Create(const Options& options);

  /// `bytes` bytes (1 or more), not initialised, given back when the last copy of the pointer is gone, on any thread.
  /// What is not kept is asked of `engine`; RESOURCE_EXHAUSTED where that has no more.
  absl::StatusOr<std::shared_ptr<void>> Take(Engine& engine, int64_t bytes);

  /// Frees what was kept all the time since the last call.
  void Trim();

  int64_t bytes_in_use() const;
  int64_t kept_bytes() const;
  /// How often an engine was asked for memory.
  int64_t allocations() const;

 private:
  using Memory = std::unique_ptr<EngineMemory>;
  struct Kept {
    Memory memory;
    int64_t since = 0;  // the number of calls of Trim before
  };

  explicit RunBuffers(const Options& options) : options_(options) {}
  // The last one of that size; null: there is none.
  Memory TakeKept(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a buffer as in use. What is to be freed for it, outside of the lock.
  std::vector<Memory> MakeRoom(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Memory> TakeAllKept() ABSL_LOCKS_EXCLUDED(mutex_);
  Memory TakeOut(std::multimap<int64_t, Kept>::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(EngineMemory* memory, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  std::multimap<int64_t, Kept> kept_ ABSL_GUARDED_BY(mutex_);  // by size; of one size the last one kept behind
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t allocations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t trims_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_RUN_BUFFERS_H_
