// Sorting keys of which few are distinct, by counting them.
#ifndef CORANK_KERNELS_CUDA_SORT_COUNTING_H_
#define CORANK_KERNELS_CUDA_SORT_COUNTING_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

struct CountingTuning {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = 4;              // of 16 bytes, a thread and tile
  static constexpr int kCopies = 8;               // of the counters of a block, so that lanes meet less often
  static constexpr int64_t kMaxBlocks = 132 * 8;  // enough to fill an H200; the rest is a loop
};

/// Counts each of the keys (of key_bytes bytes, 2, 4 or 8) in d_dictionary->counts; where d_ranks is not null, writes
/// each key's position in the dictionary there. h_letter->missing: whether there are keys that the dictionary does not
/// have; counts and ranks are good for nothing then. Enqueues one launch; d_dictionary is as SampleKeys left it.
cudaError_t CountKeys(int key_bytes, const void* d_keys, int64_t count, KeyDictionary* d_dictionary, uint8_t* d_ranks,
                      StatisticsLetter* h_letter, cudaStream_t stream);

/// Writes the first result_count keys of the sorted array. Enqueues one launch.
cudaError_t WriteCountedKeys(int key_bytes, const KeyDictionary* d_dictionary, void* d_keys_out, int64_t result_count,
                             cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_COUNTING_H_
