// Reductions of the values of each group.
#ifndef CORANK_KERNELS_CUDA_GROUP_GROUP_REDUCE_H_
#define CORANK_KERNELS_CUDA_GROUP_GROUP_REDUCE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// Values, and the runs that they form. All pointers: device memory.
struct RunValues {
  KeyType type = KeyType::kUint32;
  int64_t count = 0;  // > 0
  const void* values = nullptr;
  const uint8_t* validity = nullptr;            // null: every value counts
  const uint32_t* head_bits = nullptr;          // bit i: whether a run begins at value i
  const int64_t* runs_before = nullptr;         // how many do before each tile (GroupTuning::kRunTile), and in all
  void* nodes = nullptr;                        // RunNodesBytes(count)
  unsigned long long* overflow_cell = nullptr;  // a FaultCell: gets the first run whose sum does not fit
};

/// Bytes of RunValues::nodes.
int64_t RunNodesBytes(int64_t count);

/// Enqueue the reduction of each run. Never wait.
cudaError_t SumRuns(const RunValues& runs, void* d_sums, cudaStream_t stream);
cudaError_t LeastOfRuns(const RunValues& runs, void* d_minima, cudaStream_t stream);
cudaError_t GreatestOfRuns(const RunValues& runs, void* d_maxima, cudaStream_t stream);
/// Counts the values of each run. Reads their validity only.
cudaError_t CountRuns(const RunValues& runs, int64_t* d_counts, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_GROUP_REDUCE_H_
