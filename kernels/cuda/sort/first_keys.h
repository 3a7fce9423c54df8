// The first keys of a sorted array, found without a sort of all keys.
#ifndef CORANK_KERNELS_CUDA_SORT_FIRST_KEYS_H_
#define CORANK_KERNELS_CUDA_SORT_FIRST_KEYS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/select.h"

namespace corank::cuda {

/// A selection with its memory.
struct FirstKeys {
  SelectionPlan plan;
  SelectionScratch* d_scratch = nullptr;
  void* d_records = nullptr;
  Workspace left;
};

/// Plans, and carves the workspace. *bytes: all that WriteFirstKeys may use.
cudaError_t CarveFirstKeys(const SortArgs& args, Workspace workspace, FirstKeys* first, int64_t* bytes);

/// Selects the keys up to a threshold, sorts them and writes the results. Requires a plan with a capacity. Waits until
/// the number of selected keys is known. *taken: the algorithm that sorted the selected keys, or AUTO if too many keys
/// or too few were selected; the outputs are undefined then. Stable.
cudaError_t WriteFirstKeys(const SortArgs& args, const FirstKeys& first, StatisticsLetter* h_letter,
                           cudaStream_t stream, SortAlgorithm* taken);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_FIRST_KEYS_H_
