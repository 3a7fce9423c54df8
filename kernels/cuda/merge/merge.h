// Merges k sorted arrays on the GPU.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// The device memory that Merge needs beside its inputs and outputs. Reads args.inputs (counts only), but no device
/// memory. AUTO and MERGE_PATH: total / 16 + O(k) bytes, and 4 or 8 bytes for each element if values do not have 4 or 8
/// bytes; for more than 32 inputs, keys and values (or indices) once more. Textbook algorithms: the same, and keys and
/// values once more from three inputs on.
int64_t MergeWorkspaceBytes(const MergeArgs& args);

/// Enqueues a stable merge of args.inputs into args.keys_out and args.values_out on `stream`. Never allocates device
/// memory, never waits. The caller may release args.inputs, a host array, after the return.
///
/// d_workspace: 256-byte aligned device memory of at least MergeWorkspaceBytes(args) bytes. d_report: device-accessible
/// memory, written on the stream. With args.check_sorted, kUnsorted names the first unsorted input and the least index
/// in it that is out of order. merge_algorithm is the algorithm in use: kMergePath for AUTO.
///
/// Unsorted inputs never cause an access out of bounds, and the outputs are still a permutation of the inputs.
///
/// Errors: cudaErrorInvalidValue for impossible counts or widths, or a workspace that is too small; otherwise the error
/// of a launch.
cudaError_t Merge(const MergeArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                  cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_H_
