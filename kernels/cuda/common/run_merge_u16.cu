// Merge of runs of keys of 2 bytes.
#include "kernels/cuda/common/run_merge.cuh"

namespace corank::cuda {

template cudaError_t RunMergeWith(const KeyOrder<uint16_t, false>&, const RunMerge&, Workspace&, cudaStream_t);
template cudaError_t RunMergeWith(const KeyOrder<uint16_t, true>&, const RunMerge&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
