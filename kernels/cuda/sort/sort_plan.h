// A sort whose algorithm depends on type and size, but not on the data.
#ifndef CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_
#define CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// The algorithm of RunSort: args.algorithm, or the fastest one for AUTO.
SortAlgorithm TakenAlgorithm(const SortArgs& args);

inline constexpr uint64_t kAllBitsLive = ~uint64_t{0};

/// Carves the workspace. Unless it only sizes, enqueues the sort, or a part of it if TakenAlgorithm is RADIX.
/// live_bits: see CoreSort. Never waits.
cudaError_t RunSort(const SortArgs& args, uint64_t live_bits, Workspace& workspace, cudaStream_t stream,
                    RadixPart part = RadixPart::kAll);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_
