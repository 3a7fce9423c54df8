// Gathers wide values from the inputs of a merge.
#ifndef CORANK_KERNELS_CUDA_MERGE_GATHER_INPUTS_H_
#define CORANK_KERNELS_CUDA_MERGE_GATHER_INPUTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// The rows of one input, and the number of its first row among the rows of all inputs.
struct InputRows {
  const void* rows;
  int64_t first;
};

/// out[i] = row d_indices[i] of the inputs, numbered through all of them. d_inputs has room for args.input_count
/// entries. Indices have index_bytes bytes, 4 or 8.
cudaError_t GatherInputs(const MergeArgs& args, const void* d_indices, int index_bytes, InputRows* d_inputs,
                         cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_GATHER_INPUTS_H_
