// The first keys of each segment.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_LIMIT_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_LIMIT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/common/select.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Writes the first args.limit results of each segment, one segment behind the other, and their number to *d_results,
/// which is device-accessible or null. args.LimitsSegments() holds. Writes nothing behind the results. Carves its
/// workspace. Unless it only sizes, enqueues its launches. Never waits. Stable.
cudaError_t SortLimitedSegments(const SortArgs& args, int64_t* d_results, Workspace& workspace, cudaStream_t stream);

/// A sorted array of segments, and how many results each has.
struct SegmentLimit {
  int64_t count = 0;
  const int64_t* d_offsets = nullptr;
  int64_t segment_count = 0;
  int64_t limit = 0;
};

/// Moves the first `limit` rows of each segment to the front, as Select does: pack.elements and pack.values to their
/// outputs, and the number of these rows to pack.count_out. Sets the predicate. Carves its workspace. Unless it only
/// sizes, enqueues its launches.
cudaError_t PackSegments(const SegmentLimit& segments, SelectArgs pack, Workspace& workspace, cudaStream_t stream);

/// Enqueues *to = from == nullptr ? number : *from. `to`: device-accessible.
cudaError_t WriteNumber(const int64_t* d_from, int64_t number, int64_t* to, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_LIMIT_H_
