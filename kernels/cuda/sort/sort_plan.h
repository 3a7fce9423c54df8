// A sort whose algorithm is decided by type and size, without a look at the data.
#ifndef CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_
#define CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// What RunSort takes: args.algorithm, or what is fastest where that is AUTO.
SortAlgorithm TakenAlgorithm(const SortArgs& args);

inline constexpr uint64_t kAllBitsLive = ~uint64_t{0};

/// Carves the workspace and, unless that is only sizing, enqueues the sort, or where TakenAlgorithm is RADIX a part of
/// it. live_bits: as CoreSort's. Never waits.
cudaError_t RunSort(const SortArgs& args, uint64_t live_bits, Workspace& workspace, cudaStream_t stream,
                    RadixPart part = RadixPart::kAll);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SORT_PLAN_H_
