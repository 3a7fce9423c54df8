// Calls a function for every work item of many segments, with one thread for each item, however unequal the segments
// are: a transform with load-balancing search.
//
//   // Row i of a sparse matrix has row_counts[i] entries.
//   corank::cuda::ForEachWorkItem(d_row_counts, entry_count,
//       [=] __device__(int64_t entry, int64_t row, int64_t rank) { d_out[entry] = d_scale[row] * d_in[entry]; },
//       workspace, stream);
//
// Algorithm, work and workspace: kernels/cuda/intervals/interval_walk.cuh; O(segments + items), two kernels. Adjacent
// threads get adjacent items, so that accesses by item coalesce. Compile with nvcc, --extended-lambda for lambdas and
// --expt-relaxed-constexpr.
// Source: S. Baxter, moderngpu (transform_lbs), 2016.
#ifndef CORANK_CUDA_FOR_EACH_WORK_ITEM_CUH_
#define CORANK_CUDA_FOR_EACH_WORK_ITEM_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "corank/span.h"
#include "kernels/cuda/intervals/interval_walk.cuh"

namespace corank::cuda {

namespace internal {

/// The operator of interval_walk.cuh that calls `fn` instead of writing a result.
template <typename Fn, int kItems>
struct ForEachOp {
  using Tuning = LoadBalanceTuning<kItems, static_cast<int>(sizeof(int64_t))>;
  static constexpr int kVector = 1;
  static constexpr int kUnroll = 1;
  struct Item {};
  struct Slot {
    int64_t start;  // first item
    int64_t segment;
  };
  Fn fn;

  __device__ __forceinline__ void Load(int64_t, int64_t, Item (&)[kItems]) const {}
  __device__ __forceinline__ Slot SlotOf(const Item&, int64_t number, int64_t start) const { return {start, number}; }
  __device__ __forceinline__ int Phase(int64_t) const { return 0; }

  struct Writer {
    const Fn& fn;
    int64_t first;
    __device__ __forceinline__ void One(int position, const Slot& slot) const {
      const int64_t index = first + position;
      fn(index, slot.segment, index - slot.start);
    }
    __device__ __forceinline__ void Vector(int position, const Slot* slot, uint32_t) const { One(position, *slot); }
  };
  __device__ __forceinline__ Writer WriterAt(int64_t unit) const { return {fn, unit}; }
};

/// Calls run(items in a lane) with a compile-time number: more of them if segments are short.
template <typename Run>
auto WithItems(int64_t segments, int64_t total, Run run) {
  return total < WalkTuning::kShortMean * segments ? run(std::integral_constant<int, ShortItems(8)>())
                                                   : run(std::integral_constant<int, 2>());
}

template <int kItems>
WalkPlan ForEachPlan(Span<const int64_t> counts, int64_t total, cuda::Workspace& workspace) {
  using Tuning = LoadBalanceTuning<kItems, static_cast<int>(sizeof(int64_t))>;
  return MakeWalkPlan<Tuning>(counts.data(), counts.size(), total, 1, workspace);
}

}  // namespace internal

/// Bytes of workspace for these numbers of segments and items.
inline int64_t ForEachWorkItemWorkspaceBytes(int64_t segment_count, int64_t total) {
  if (segment_count <= 0 || total <= 0) return 0;
  return internal::WithItems(segment_count, total, [&](auto items) {
    cuda::Workspace workspace;
    internal::ForEachPlan<decltype(items)::value>({nullptr, segment_count}, total, workspace);
    return workspace.bytes();
  });
}

/// Enqueues fn(index, segment, rank) for each of the `total` items, in any order: item `index` is number `rank` of
/// segment `segment`, which has counts[segment] items. `counts`: device memory, no negative numbers, whose sum is
/// `total`. `workspace`: device memory, 256-byte aligned, ForEachWorkItemWorkspaceBytes bytes or more. `fn` is copied
/// to the device. Never allocates, never waits.
///
/// Errors: cudaErrorInvalidValue for impossible numbers or a workspace that is too small; otherwise the error of a
/// launch.
template <typename Fn>
cudaError_t ForEachWorkItem(Span<const int64_t> counts, int64_t total, Fn fn, Span<std::byte> workspace,
                            cudaStream_t stream) {
  if (total < 0 || (counts.empty() && total > 0) ||
      workspace.size() < ForEachWorkItemWorkspaceBytes(counts.size(), total) ||
      reinterpret_cast<uintptr_t>(workspace.data()) % cuda::Workspace::kAlignment != 0) {
    return cudaErrorInvalidValue;
  }
  if (total == 0) return cudaSuccess;
  return internal::WithItems(counts.size(), total, [&](auto items) {
    constexpr int kItems = decltype(items)::value;
    cuda::Workspace carved(workspace.data());
    const WalkPlan plan = internal::ForEachPlan<kItems>(counts, total, carved);
    return Walk(internal::ForEachOp<Fn, kItems>{fn}, plan, nullptr, stream);
  });
}

}  // namespace corank::cuda

#endif  // CORANK_CUDA_FOR_EACH_WORK_ITEM_CUH_
