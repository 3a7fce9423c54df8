// Pinned memory for copies through the host.
#ifndef CORANK_KERNELS_CUDA_ENGINE_RELAY_MEMORY_H_
#define CORANK_KERNELS_CUDA_ENGINE_RELAY_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cuda/engine/cuda_memory.h"
#include "kernels/engine/engine.h"

namespace corank::cuda {

/// Blocks of kRelayBytes, which the streams of a GPU take in turn. Thread-safe.
class RelayMemory {
 public:
  /// Most blocks that stay for later requests, because pinning one takes longer than many sorts: for a shared sort and
  /// a copy of a kept array.
  static constexpr int kMostKept = 2;
  static constexpr int64_t kKeptBytes = kMostKept * kRelayBytes;

  explicit RelayMemory(PinnedMemory source) : source_(source) {}
  /// All blocks have been given back.
  ~RelayMemory();
  RelayMemory(const RelayMemory&) = delete;
  RelayMemory& operator=(const RelayMemory&) = delete;

  /// Allocates the blocks that stay, so that no request waits for them. OK with fewer if memory is short: Take tries
  /// again, and only copies between GPUs need them.
  absl::Status Prepare();

  /// RESOURCE_EXHAUSTED, or the source's error.
  absl::StatusOr<char*> Take();
  /// Nothing may use the block any more.
  void GiveBack(char* h_block);

 private:
  PinnedMemory source_;
  absl::Mutex mutex_;
  std::vector<char*> idle_ ABSL_GUARDED_BY(mutex_);
  int blocks_ ABSL_GUARDED_BY(mutex_) = 0;  // idle and used ones
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_RELAY_MEMORY_H_
