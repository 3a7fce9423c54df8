// Finds the keys in the middle of a sorted array without sorting all of them: the keys between two thresholds.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECT_BAND_H_
#define CORANK_KERNELS_CUDA_SORT_SELECT_BAND_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/key_statistics.h"
#include "kernels/cuda/sort/selection_rules.h"

namespace corank::cuda {

struct BandScratch {
  unsigned long long selected;
  unsigned long long below;
  uint32_t blocks_done;
};

/// Copies plan.band.samples keys, spread over the array in its order, to d_sample. Clears the scratch. Enqueues one
/// launch.
cudaError_t SampleBand(const SortArgs& args, const MiddlePlan& plan, void* d_sample, BandScratch* d_scratch,
                       cudaStream_t stream);

/// Writes records of the keys between the samples at positions plan.band.low and plan.band.high, both included, to
/// d_records, unordered and at most plan.capacity. d_order: the numbers of the samples in sorted order. Equal keys are
/// in the order of their indices, so that no number of them is too many. h_letter gets the number of selected keys and
/// that of the keys below; if more are selected than the capacity, both may be too small. Enqueues one launch.
/// h_letter->arrived must be 0.
cudaError_t SelectBand(const SortArgs& args, const MiddlePlan& plan, const uint32_t* d_order, void* d_records,
                       BandScratch* d_scratch, StatisticsLetter* h_letter, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECT_BAND_H_
