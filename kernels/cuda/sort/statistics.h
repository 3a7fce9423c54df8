// AUTO's examination of the keys before it sorts them.
#ifndef CORANK_KERNELS_CUDA_SORT_STATISTICS_H_
#define CORANK_KERNELS_CUDA_SORT_STATISTICS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/key_statistics.h"

namespace corank::cuda {

/// Each function enqueues one launch that leaves its answer in *h_letter. h_letter->arrived must be 0.

/// Takes the sample, prepares d_scratch for later kernels and makes its dictionary. count > 2.
cudaError_t SampleKeys(KeyType type, Order order, const void* d_keys, int64_t count, StatisticsScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream);
/// Reads all keys.
cudaError_t ExamineKeys(const Examination& examination, StatisticsScratch* d_scratch, StatisticsLetter* h_letter,
                        cudaStream_t stream);

/// Waits until the letter has arrived: spins at first, and waits no longer than for earlier work of the stream.
cudaError_t WaitForLetter(const StatisticsLetter* h_letter, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STATISTICS_H_
