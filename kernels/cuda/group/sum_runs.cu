// Sums of the values of runs. run_reduce.cuh describes the algorithm.
#include "kernels/cuda/group/group_reduce.h"
#include "kernels/cuda/group/run_reduce.cuh"

namespace corank::cuda {

cudaError_t SumRuns(const RunValues& runs, void* d_sums, cudaStream_t stream) {
  return WithSum(runs.type, runs.count, [&](const auto& op) { return ReduceRuns(op, runs, d_sums, stream); });
}

}  // namespace corank::cuda
