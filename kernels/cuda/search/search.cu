// Search of many needles in a sorted haystack.
//
// Algorithm: a block keeps evenly spaced keys of the haystack in shared memory. Each thread finds the gap between two
//            of them that holds its needle's bound, and finishes the binary search in global memory.
// Work: O(needles * log(haystack)).
// Memory: one coalesced read of the needles and one coalesced write of the positions; scattered reads of the haystack.
//         The check that the haystack is sorted reads it once.
// Workspace: one FaultCell.
// Source: binary search; S. Baxter, moderngpu, "Vectorized Sorted Search", 2013, for the operator.
#include <algorithm>

#include "kernels/common/key_order.h"
#include "kernels/common/merge_path.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/search/search.h"
#include "kernels/cuda/search/search_tuning.h"

namespace corank::cuda {
namespace {

using Tuning = SearchTuning;

/// Ranks of keys, computed as they are read.
template <typename Bits, bool kFloat>
struct RankedKeys {
  const Bits* keys;
  KeyOrder<Bits, kFloat> order;
  __device__ Bits operator[](int64_t i) const { return order.RankOfRaw(keys[i]); }
};

template <bool kUpper, typename Index, typename Keys, typename Bits>
__device__ __forceinline__ Index Bound(const Keys& keys, Index count, Bits rank) {
  const auto before = [](Bits a, Bits b) { return a < b; };
  if constexpr (kUpper) {
    return UpperBound(keys, count, rank, before);
  } else {
    return LowerBound(keys, count, rank, before);
  }
}

template <bool kUpper, typename Position, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    SearchKernel(const Bits* haystack, int64_t count, const Bits* needles, int64_t needle_count, Position* positions,
                 KeyOrder<Bits, kFloat> order) {
  __shared__ Bits s_ranks[Tuning::kPivots];
  const int pivots = static_cast<int>(min(count, int64_t{Tuning::kPivots}));
  for (int i = threadIdx.x; i < pivots; i += Tuning::kThreads) {
    s_ranks[i] = order.RankOfRaw(haystack[PivotIndex(i, pivots, count)]);
  }
  __syncthreads();

  const int64_t first = blockIdx.x * Tuning::kNeedlesPerBlock;
  const int64_t last = min(first + Tuning::kNeedlesPerBlock, needle_count);
  for (int64_t i = first + threadIdx.x; i < last; i += Tuning::kThreads) {
    const Bits rank = order.RankOfRaw(needles[i]);
    const int gap = Bound<kUpper>(s_ranks, pivots, rank);
    const int64_t low = gap == 0 ? 0 : PivotIndex(gap - 1, pivots, count) + 1;
    const int64_t high = gap == pivots ? count : PivotIndex(gap, pivots, count);
    const RankedKeys<Bits, kFloat> keys{haystack + low, order};
    positions[i] = static_cast<Position>(low + Bound<kUpper>(keys, high - low, rank));
  }
}

template <bool kUpper, typename Position, typename Bits, bool kFloat>
cudaError_t LaunchFor(const SearchArgs& args, const KeyOrder<Bits, kFloat>& order, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.needle_count, Tuning::kNeedlesPerBlock));
  SearchKernel<kUpper><<<blocks, Tuning::kThreads, 0, stream>>>(
      static_cast<const Bits*>(args.haystack), args.haystack_count, static_cast<const Bits*>(args.needles),
      args.needle_count, static_cast<Position*>(args.positions_out), order);
  return cudaGetLastError();
}

template <bool kUpper, typename Bits, bool kFloat>
cudaError_t Launch(const SearchArgs& args, const KeyOrder<Bits, kFloat>& order, cudaStream_t stream) {
  if (IndexBytes(args.haystack_count) == 4) return LaunchFor<kUpper, uint32_t>(args, order, stream);
  return LaunchFor<kUpper, uint64_t>(args, order, stream);
}

}  // namespace

int64_t SearchWorkspaceBytes(const SearchArgs& args) {
  Workspace workspace;
  if (args.check_sorted) workspace.Carve<FaultCell>(1);
  return workspace.bytes();
}

cudaError_t Search(const SearchArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream) {
  if (args.haystack_count < 0 || args.needle_count < 0 || workspace_bytes < SearchWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  FaultCell* d_unsorted = nullptr;
  if (args.check_sorted) {
    Workspace workspace(d_workspace);
    d_unsorted = workspace.Carve<FaultCell>(1);
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_unsorted, 0, sizeof(FaultCell), stream));
  }
  CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, args.order, [&](auto order) {
    if (args.check_sorted) {
      SortedCheckGroup group;
      group.Add(args.haystack, args.haystack_count, 0);
      CORANK_RETURN_IF_CUDA_ERROR(CheckSorted(group, order, nullptr, d_unsorted, stream));
    }
    if (args.needle_count == 0) return cudaSuccess;
    return args.bound == SearchBound::kUpper ? Launch<true>(args, order, stream) : Launch<false>(args, order, stream);
  }));
  return WriteReport(OperatorReport(), d_unsorted, d_report, stream);
}

}  // namespace corank::cuda
