// The first keys of each of a few long segments, found without a sort of all keys.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_FIRST_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_FIRST_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/key_statistics.h"

namespace corank::cuda {

/// Does the work of SortLimitedSegments, for arguments that SelectsInSegments (selection_rules.h) accepts. The host
/// waits until the device has counted the selected keys. *found says whether every segment had enough of them and not
/// too many; otherwise the outputs are undefined. Carves its workspace; does no more if it only sizes. See
/// segment_first.cu.
cudaError_t WriteFirstOfSegments(const SortArgs& args, int64_t* d_results, StatisticsLetter* h_letter,
                                 Workspace& workspace, cudaStream_t stream, bool* found);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_FIRST_H_
