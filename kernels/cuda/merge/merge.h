// Merges k sorted arrays on the GPU.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// The device memory that Merge needs beside its inputs and outputs. Reads args.inputs (counts only), no device memory.
/// AUTO and MERGE_PATH: total / 16 + O(k) bytes, and 4 or 8 bytes an element where values are not of 4 or 8 bytes; for
/// more than 32 inputs, keys and values (or indices) once more. The textbook's algorithms: the same, and keys and
/// values once more from three inputs on.
int64_t MergeWorkspaceBytes(const MergeArgs& args);

/// Enqueues a stable merge of args.inputs into args.keys_out and args.values_out on `stream`. Never allocates device
/// memory and never waits. args.inputs, a host array, is not needed after the return.
///
/// d_workspace: 256-byte aligned device memory of at least MergeWorkspaceBytes(args).
/// d_report: device-accessible memory; written on the stream. kUnsorted names the least input, and in it the least
/// index, that is out of order (only where args.check_sorted). merge_algorithm is what was taken: kMergePath for
/// AUTO.
///
/// Unsorted inputs never lead to an access out of bounds, and the outputs are a permutation of the inputs all the same.
///
/// Errors: cudaErrorInvalidValue for counts, widths or a workspace that do not fit; else what a launch answers.
cudaError_t Merge(const MergeArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                  cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_H_
