// Sums of the values of runs, and their number. run_reduce.cuh describes the algorithm.
#include "kernels/cuda/group/group_reduce.h"
#include "kernels/cuda/group/run_reduce.cuh"

namespace corank::cuda {

cudaError_t SumRuns(const RunValues& runs, void* d_sums, cudaStream_t stream) {
  return WithSum(runs.type, runs.count, [&](const auto& op) { return ReduceRuns(op, runs, d_sums, stream); });
}

cudaError_t CountRuns(const RunValues& runs, int64_t* d_counts, cudaStream_t stream) {
  RunValues ones = runs;
  ones.values = nullptr;
  return ReduceRuns(IntegerSum<uint8_t, int64_t>(), ones, d_counts, stream);
}

}  // namespace corank::cuda
