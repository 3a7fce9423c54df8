// Memory that a stream hands out during one request and takes back all together: host, pinned or device memory.
#ifndef CORANK_KERNELS_ENGINE_ARENA_H_
#define CORANK_KERNELS_ENGINE_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/alignment.h"

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
  };

  Arena(Source source, const Options& options) : source_(std::move(source)), options_(options) {}
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

  /// Takes all memory back.
  void Reset() {
    // Smallest first: small arrays leave the large chunks to large arrays, and the chunks beyond the cap are the
    // largest.
    std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) { return a.bytes < b.bytes; });
    int64_t kept_bytes = 0;
    size_t kept = 0;
    while (kept < chunks_.size() && chunks_[kept].bytes <= options_.keep_bytes - kept_bytes) {
      kept_bytes += chunks_[kept].bytes;
      chunks_[kept++].used = 0;
    }
    FreeFrom(kept);
  }

  /// Returns all chunks to the source.
  void Clear() { FreeFrom(0); }

 private:
  struct Chunk {
    char* memory;
    int64_t bytes;
    int64_t used;
  };

  void FreeFrom(size_t first) {
    for (size_t i = first; i < chunks_.size(); ++i) source_.Free(chunks_[i].memory);
    chunks_.resize(first);
  }

  Source source_;
  Options options_;
  std::vector<Chunk> chunks_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ARENA_H_
