// Finds the first few keys of a sorted array without sorting all of them: the keys up to a threshold.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECT_H_
#define CORANK_KERNELS_CUDA_SORT_SELECT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

/// Writes the indices, of index_bytes (4 or 8) bytes, of all keys that do not come after keys of rank `threshold` to
/// d_indices, unordered and at most `capacity` of them, and their number to h_letter->selected. Enqueues one launch.
/// d_scratch is as SampleKeys left it.
cudaError_t SelectKeys(KeyType type, Order order, const void* d_keys, int64_t count, uint64_t threshold,
                       void* d_indices, int index_bytes, int64_t capacity, StatisticsScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECT_H_
