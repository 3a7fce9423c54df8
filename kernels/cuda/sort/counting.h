// Sorts keys with few distinct values by counting them.
#ifndef CORANK_KERNELS_CUDA_SORT_COUNTING_H_
#define CORANK_KERNELS_CUDA_SORT_COUNTING_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

struct CountingTuning {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = 4;  // of 16 bytes, for each thread and tile
  static constexpr int kCopies = 8;   // of a block's counters, so that lanes rarely meet
};

/// Counts each key (of key_bytes bytes, 2, 4 or 8) in d_dictionary->counts. If d_ranks is not null, also writes each
/// key's position in the dictionary there. h_letter->missing tells whether the dictionary lacks a key; counts and ranks
/// are then invalid. Enqueues one launch. d_dictionary is as SampleKeys left it.
cudaError_t CountKeys(int key_bytes, const void* d_keys, int64_t count, KeyDictionary* d_dictionary, uint8_t* d_ranks,
                      StatisticsLetter* h_letter, cudaStream_t stream);

/// Writes the first result_count keys of the sorted array. Enqueues one launch.
cudaError_t WriteCountedKeys(int key_bytes, const KeyDictionary* d_dictionary, void* d_keys_out, int64_t result_count,
                             cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_COUNTING_H_
