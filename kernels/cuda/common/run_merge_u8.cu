// Merge of runs of keys of 1 byte.
#include "kernels/cuda/common/run_merge.cuh"

namespace corank::cuda {

template cudaError_t RunMergeWith(const KeyOrder<uint8_t, false>&, const RunMerge&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
