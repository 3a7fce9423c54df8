// Checks the destinations of a Move for overlap, with a bit for each element of the destination (overlap_bits.cu).
#ifndef CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_BITS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_BITS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// Whether there are enough intervals for the size of the destination, so that bits are cheaper than a sort. Reads
/// args.interval_count and args.destination_count only.
bool TakesOverlapBits(const MoveArgs& args);

/// Reads these and args.total.
int64_t OverlapBitsWorkspaceBytes(const MoveArgs& args);

/// Enqueues the check of args.destination_offsets and args.counts and writes *d_report, as Move (intervals.h) does. The
/// workspace is 256-byte aligned and has at least OverlapBitsWorkspaceBytes(args) bytes.
cudaError_t CheckOverlapBits(const MoveArgs& args, void* d_workspace, OperatorReport* d_report, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_BITS_H_
