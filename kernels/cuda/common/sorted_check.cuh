// Checks that arrays are sorted. Finds the least (input, index) whose key comes before the previous key.
//
// Algorithm: each block compares neighbours in one tile after the other, with one atomicMax for each fault.
// Work: one comparison for each key.
// Memory: one read of the keys; the neighbour comes from the cache.
// Workspace: one FaultCell, zero before the launch.
// Result: the same for every schedule of the blocks.
#ifndef CORANK_KERNELS_CUDA_COMMON_SORTED_CHECK_CUH_
#define CORANK_KERNELS_CUDA_COMMON_SORTED_CHECK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/common/operator_report.cuh"

namespace corank::cuda {

struct SortedCheckTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kMaxInputs = 64;  // in one launch
};

/// Arrays to check in one launch; a kernel argument.
struct SortedCheckGroup {
  const void* keys[SortedCheckTuning::kMaxInputs];
  int64_t counts[SortedCheckTuning::kMaxInputs];
  int64_t tile_ends[SortedCheckTuning::kMaxInputs];  // running sum of the tiles of the arrays
  int32_t inputs[SortedCheckTuning::kMaxInputs];     // the number in the report of a fault
  int32_t size = 0;

  bool full() const { return size == SortedCheckTuning::kMaxInputs; }
  int64_t tiles() const { return size == 0 ? 0 : tile_ends[size - 1]; }
  void Add(const void* d_keys, int64_t count, int32_t input) {
    if (count < 2) return;
    const int64_t before = tiles();
    keys[size] = d_keys;
    counts[size] = count;
    inputs[size] = input;
    tile_ends[size] = before + (count + SortedCheckTuning::kTile - 1) / SortedCheckTuning::kTile;
    ++size;
  }
};
static_assert(sizeof(SortedCheckGroup) <= 4096, "a kernel argument");

/// Reports `key`, element `index` of an input, if it comes before `previous`.
template <typename Bits, bool kFloat>
__device__ __forceinline__ void CheckNeighbours(Bits previous, Bits key, const KeyOrder<Bits, kFloat>& order,
                                                int32_t input, int64_t index, FaultCell* d_cell) {
  if (order.Before(key, previous)) atomicMax(d_cell, PackFault(input, index));
}

/// Does nothing if d_only_if is not null and points to 0.
template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(SortedCheckTuning::kThreads)
    SortedCheckKernel(const __grid_constant__ SortedCheckGroup group, KeyOrder<Bits, kFloat> order,
                      const int32_t* d_only_if, FaultCell* d_cell) {
  using Tuning = SortedCheckTuning;
  if (d_only_if != nullptr && *d_only_if == 0) return;
  int entry = 0;
  for (int64_t tile = blockIdx.x; tile < group.tile_ends[group.size - 1]; tile += gridDim.x) {
    while (tile >= group.tile_ends[entry]) ++entry;
    const int64_t first_tile = entry == 0 ? 0 : group.tile_ends[entry - 1];
    const Bits* keys = static_cast<const Bits*>(group.keys[entry]);
    const int64_t count = group.counts[entry];
    const int64_t begin = (tile - first_tile) * Tuning::kTile + threadIdx.x;
#pragma unroll
    for (int item = 0; item < Tuning::kItems; ++item) {
      const int64_t index = begin + item * Tuning::kThreads;
      if (index > 0 && index < count) {
        CheckNeighbours(keys[index - 1], keys[index], order, group.inputs[entry], index, d_cell);
      }
    }
  }
}

/// Enqueues the check of a group.
template <typename Bits, bool kFloat>
cudaError_t CheckSorted(const SortedCheckGroup& group, const KeyOrder<Bits, kFloat>& order, const int32_t* d_only_if,
                        FaultCell* d_cell, cudaStream_t stream) {
  if (group.size == 0) return cudaSuccess;
  const unsigned blocks = LoopingGrid(group.tiles(), 1);
  SortedCheckKernel<<<blocks, SortedCheckTuning::kThreads, 0, stream>>>(group, order, d_only_if, d_cell);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_SORTED_CHECK_CUH_
