// Interval operators on the GPU: many fills or copies of variable length, balanced to the element.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

// For all functions: d_workspace is 256-byte aligned device memory of at least ...WorkspaceBytes(args) bytes. d_report
// is device-accessible memory, written on the stream. No call allocates device memory or waits. The caller has checked
// that counts are not negative, that total is their sum, and that every interval lies within its arrays. Errors:
// cudaErrorInvalidValue for impossible counts or widths, or a workspace that is too small; otherwise the error of a
// launch.

/// A byte for each interval, 8 bytes for each group of 64 to 256 intervals (interval_tuning.h), and at most 73 KB more.
int64_t ExpandWorkspaceBytes(const ExpandArgs& args);
/// Enqueues the operator: args.out gets value i counts[i] times.
cudaError_t Expand(const ExpandArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream);

/// 40 bytes for each tile of intervals; every tile except the last has at least 32 of them. For many short intervals
/// with both offsets: also 10 to 12 bytes for every 4 bytes of the elements (move_bins.cu; sizes in interval_tuning.h).
/// With check_overlap and destination offsets: the workspace of the check (overlap_bits.cu, overlap_check.cu), if that
/// is more.
int64_t MoveWorkspaceBytes(const MoveArgs& args);
/// Enqueues the operator: copies the elements of every interval from source to destination. kOverlapping names the
/// first overlapping pair of neighbours by destination offset (stable, without empty intervals): the later interval in
/// `index`, the earlier one in `other`. The destination within the intervals is then unspecified.
cudaError_t Move(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                 cudaStream_t stream);

/// As for Expand.
int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args);
/// Enqueues the operator: finds the index of the object and the rank in it for each work item.
cudaError_t LoadBalance(const LoadBalanceArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* d_report, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVALS_H_
