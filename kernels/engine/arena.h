// Memory that a stream hands out during one request and takes back all together: host, pinned or device memory.
#ifndef CORANK_KERNELS_ENGINE_ARENA_H_
#define CORANK_KERNELS_ENGINE_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/alignment.h"
#include "kernels/engine/budget.h"

namespace corank {

/// A bump allocator over chunks that outlive requests. Not thread-safe. Source provides the chunks:
///
///   absl::StatusOr<void*> Allocate(int64_t bytes);  // 256-byte aligned, not initialised
///   void Free(void* memory);                        // what Allocate gave
template <typename Source>
class Arena {
 public:
  static constexpr int64_t kAlignment = kArrayAlignment;

  struct Options {
    int64_t minimum_chunk_bytes = int64_t{1} << 20;
    /// The same for the first chunk, so that small requests do not wait for a large allocation.
    int64_t first_chunk_bytes = int64_t{1} << 20;
    /// Bytes kept for the next request. The arena frees the rest.
    int64_t keep_bytes = int64_t{1} << 30;
    /// Counts what arenas keep together, each without its first chunk. Null: nothing does.
    std::shared_ptr<Budget> kept;
  };

  Arena(Source source, Options options) : source_(std::move(source)), options_(std::move(options)) {
    if (options_.kept != nullptr) kept_ = options_.kept->Nothing();
  }
  ~Arena() { Clear(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Uninitialised memory, 256-byte aligned, valid until Reset. RESOURCE_EXHAUSTED, or the source's error.
  absl::StatusOr<void*> Allocate(int64_t bytes) {
    if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kAlignment) {
      return absl::ResourceExhaustedError("the request needs more memory than can exist");
    }
    // At least one unit, so that every call returns a distinct pointer.
    const int64_t rounded = std::max(kAlignment, AlignUp(bytes));
    for (Chunk& chunk : chunks_) {
      if (chunk.bytes - chunk.used < rounded) continue;
      void* taken = chunk.memory + chunk.used;
      chunk.used += rounded;
      return taken;
    }
    const int64_t chunk_bytes =
        std::max(rounded, chunks_.empty() ? options_.first_chunk_bytes : options_.minimum_chunk_bytes);
    absl::StatusOr<void*> memory = source_.Allocate(chunk_bytes);
    if (!memory.ok()) return memory.status();
    chunks_.push_back({static_cast<char*>(*memory), chunk_bytes, rounded});
    return *memory;
  }

  /// Takes all memory back. Keeps as much of it as the options allow, at most `most_bytes`.
  void Reset(int64_t most_bytes = std::numeric_limits<int64_t>::max()) {
    // Smallest first: small arrays leave the large chunks to large arrays, and the chunks beyond the cap are the
    // largest.
    std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) { return a.bytes < b.bytes; });
    const int64_t most = std::min(most_bytes, options_.keep_bytes);
    int64_t kept_bytes = 0;
    size_t kept = 0;
    while (kept < chunks_.size() && chunks_[kept].bytes <= most - kept_bytes &&
           MayKeep(kept_bytes + chunks_[kept].bytes)) {
      kept_bytes += chunks_[kept].bytes;
      chunks_[kept++].used = 0;
    }
    FreeFrom(kept);
    if (Counted(kept_bytes) < kept_.bytes()) kept_.Resize(Counted(kept_bytes));
  }
  /// Keeps the first chunk alone, so that the next small request allocates nothing.
  void Trim() { Reset(options_.first_chunk_bytes); }

  /// Returns all chunks to the source.
  void Clear() { Reset(0); }

 private:
  struct Chunk {
    char* memory;
    int64_t bytes;
    int64_t used;
  };

  // The part of kept bytes that counts. Every arena has its first chunk anyway.
  int64_t Counted(int64_t bytes) const { return std::max<int64_t>(0, bytes - options_.first_chunk_bytes); }
  bool MayKeep(int64_t bytes) {
    return options_.kept == nullptr || Counted(bytes) <= kept_.bytes() || kept_.Resize(Counted(bytes));
  }

  void FreeFrom(size_t first) {
    for (size_t i = first; i < chunks_.size(); ++i) source_.Free(chunks_[i].memory);
    chunks_.resize(first);
  }

  Source source_;
  const Options options_;
  Budget::Reservation kept_;
  std::vector<Chunk> chunks_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ARENA_H_
