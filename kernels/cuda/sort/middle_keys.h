// Keys in the middle of a sorted array, found without a sort of all keys.
#ifndef CORANK_KERNELS_CUDA_SORT_MIDDLE_KEYS_H_
#define CORANK_KERNELS_CUDA_SORT_MIDDLE_KEYS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/select_band.h"

namespace corank::cuda {

/// A selection with its memory.
struct MiddleKeys {
  MiddlePlan plan;
  BandScratch* d_scratch = nullptr;
  void* d_sample = nullptr;
  uint32_t* d_order = nullptr;
  void* d_records = nullptr;
  Workspace left;
};

/// Plans, and carves the workspace. *bytes: all that WriteMiddleKeys may use; 0 without a plan.
cudaError_t CarveMiddleKeys(const SortArgs& args, Workspace workspace, MiddleKeys* middle, int64_t* bytes);

/// Selects the keys between two samples, sorts them and writes the results. Requires a plan with a capacity. Waits
/// until the number of selected keys is known. *taken: the algorithm that sorted the selected keys, or AUTO if too many
/// keys were selected or not all results; the outputs are unchanged then. Stable.
cudaError_t WriteMiddleKeys(const SortArgs& args, const MiddleKeys& middle, StatisticsLetter* h_letter,
                            cudaStream_t stream, SortAlgorithm* taken);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MIDDLE_KEYS_H_
