// Minima and maxima of the values of runs. run_reduce.cuh describes the algorithm.
#include "kernels/cuda/group/group_reduce.h"
#include "kernels/cuda/group/run_reduce.cuh"

namespace corank::cuda {

cudaError_t LeastOfRuns(const RunValues& runs, void* d_minima, cudaStream_t stream) {
  return WithExtreme(runs.type, false, [&](const auto& op) { return ReduceRuns(op, runs, d_minima, stream); });
}

cudaError_t GreatestOfRuns(const RunValues& runs, void* d_maxima, cudaStream_t stream) {
  return WithExtreme(runs.type, true, [&](const auto& op) { return ReduceRuns(op, runs, d_maxima, stream); });
}

}  // namespace corank::cuda
