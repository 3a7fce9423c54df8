// Finds the first few keys of a sorted array without sorting all of them: the keys up to a threshold.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECT_H_
#define CORANK_KERNELS_CUDA_SORT_SELECT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/key_statistics.h"
#include "kernels/cuda/sort/selection_rules.h"

namespace corank::cuda {

struct SelectionScratch {
  uint64_t least[SelectionTuning::kGroups];  // ranks, in their own width
  uint64_t threshold;                        // a rank
  unsigned long long selected;
  uint32_t blocks_done;
};

/// Writes records of the selected keys to d_records, unordered and at most plan.capacity, and their number to
/// h_letter->selected; a number above the capacity may be too small. If plan.SortsBlindly(), plan.likely records are
/// valid: those after the selected ones come last in order. Enqueues three launches. h_letter->arrived must be 0.
cudaError_t SelectKeys(const SortArgs& args, const SelectionPlan& plan, void* d_records, SelectionScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream);

/// Takes words, in order, apart: d_indices[i] is the index of the i-th, or 0 if that is out of range, and, unless
/// args.keys_out is null, args.keys_out[i] its key, for i < args.ResultCount(). Enqueues one launch.
cudaError_t WriteSelected(const SortArgs& args, const uint64_t* d_words, uint32_t* d_indices, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECT_H_
