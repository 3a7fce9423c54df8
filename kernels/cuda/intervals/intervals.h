// Interval operators on the GPU: many variable-length fills or copies, balanced to the element.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

// For all: d_workspace is 256-byte aligned device memory of at least ...WorkspaceBytes(args); d_report is
// device-accessible memory, written on the stream. No call allocates device memory or waits. The caller has checked
// that counts are not negative, that total is their sum and that every interval is within its arrays.
// Errors: cudaErrorInvalidValue for counts, widths or a workspace that do not fit; else what a launch answers.

/// A byte for each interval, 8 for each group of 64 to 256 (interval_tuning.h), and at most 73 KB more.
int64_t ExpandWorkspaceBytes(const ExpandArgs& args);
/// Enqueues: value i goes counts[i] times to args.out.
cudaError_t Expand(const ExpandArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream);

/// 40 bytes for each tile of intervals: no tile but the last has fewer than 32; and for short intervals with both
/// offsets and much to move, 10 to 12 bytes for every 4 of the elements (move_bins.cu; sizes in interval_tuning.h).
/// With check_overlap and destination offsets, what the check asks for (overlap_bits.cu, overlap_check.cu), where that
/// is more.
int64_t MoveWorkspaceBytes(const MoveArgs& args);
/// Enqueues: elements of every interval go from source to destination. kOverlapping names, of the first pair of
/// neighbours by destination (stable, empty intervals left out) that overlap, the later one in `index` and the earlier
/// one in `other`; then the destination within the intervals is not specified.
cudaError_t Move(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                 cudaStream_t stream);

/// As Expand.
int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args);
/// Enqueues: for each work item the index of its object and its rank in it.
cudaError_t LoadBalance(const LoadBalanceArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* d_report, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_
