// The plan of the segmented sort.
//
// Algorithm: one thread for each segment. Heads become bits, one for each key, so that empty segments at the same
//            offset do not add to the input of the sort. The bits of a warp's segments within one word are combined
//            first. Long segments are rare: a warp describes the windows of its own ones, one segment after the other.
// Work: O(count / 32 + segments).
// Memory: two writes of the bits, one read of the offsets.
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/set_heads.cuh"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/sort/segment_plan.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;

/// Describes the windows of each of the warp's long segments.
__device__ __forceinline__ void TellWindows(int64_t begin, int64_t end, int window, const SegmentPlan& plan) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (unsigned left = __ballot_sync(kAllLanes, end - begin > window); left != 0; left &= left - 1) {
    const int from = __ffs(static_cast<int>(left)) - 1;
    const LongSegment segment{__shfl_sync(kAllLanes, begin, from), __shfl_sync(kAllLanes, end, from)};
    const int64_t first = segment.begin / window, last = (segment.end - 1) / window;
    for (int64_t w = first + 1 + lane; w <= last; w += 32) plan.long_across[w] = segment;
    if (lane != 0) continue;
    if (segment.IsGiant()) {
      plan.giants[atomicAdd(plan.giant_count, 1)] = segment;
    } else {
      atomicMax(reinterpret_cast<long long*>(plan.longest), static_cast<long long>(last - first + 1));
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    PlanKernel(const int64_t* offsets, int64_t segment_count, int window, const SegmentPlan plan) {
  const int64_t segment = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t begin = segment <= segment_count ? offsets[segment] : 0;
  const int64_t end = segment < segment_count ? offsets[segment + 1] : begin;
  SetHeads(begin, begin < end || segment == segment_count, plan.heads);
  TellWindows(begin, end, window, plan);
}

}  // namespace

cudaError_t PlanSegments(const int64_t* d_offsets, int64_t segment_count, int64_t count, int window,
                         const SegmentPlan& d_plan, cudaStream_t stream) {
  // The memory of the plan begins with `longest`.
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(d_plan.longest, 0, static_cast<size_t>(SegmentPlan::Bytes(count, window)), stream));
  const auto blocks = static_cast<unsigned>(CeilDiv(segment_count + 1, kThreads));
  PlanKernel<<<blocks, kThreads, 0, stream>>>(d_offsets, segment_count, window, d_plan);
  return cudaGetLastError();
}

}  // namespace corank::cuda
