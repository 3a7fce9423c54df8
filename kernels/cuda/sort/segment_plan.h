// What the kernels of the segmented sort know of the segments, made on the device.
//
// Positions are cut into windows. A segment longer than a window is long: it is sorted in pieces, one for each window
// that it has a part of, and the pieces are merged.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/sort/segment_schedule.h"

namespace corank::cuda {

struct SegmentPlan {
  int64_t* longest;          // pieces of the longest long segment; 0: there is none
  LongSegment* long_across;  // one for each window, and one more: the long segment across the window's start
  uint32_t* heads;           // count / 32 + 1 words: bit offsets[s] for every segment s not empty, and bit count

  static constexpr int64_t Bytes(int64_t count, int window) {
    return kLongestBytes + LongAcrossBytes(count, window) + (count / 32 + 1) * int64_t{sizeof(uint32_t)};
  }
  /// A plan in Bytes(count, window) bytes.
  SegmentPlan(void* d_memory, int64_t count, int window)
      : longest(static_cast<int64_t*>(d_memory)),
        long_across(reinterpret_cast<LongSegment*>(static_cast<char*>(d_memory) + kLongestBytes)),
        heads(reinterpret_cast<uint32_t*>(static_cast<char*>(d_memory) + kLongestBytes +
                                          LongAcrossBytes(count, window))) {}
  SegmentPlan() = default;

 private:
  static constexpr int64_t kLongestBytes = 16;  // long_across stays aligned
  static constexpr int64_t LongAcrossBytes(int64_t count, int window) {
    return (count / window + 2) * int64_t{sizeof(LongSegment)};
  }
};

/// Enqueues a fill and one launch that make the plan. offsets rise from 0 to count.
cudaError_t PlanSegments(const int64_t* d_offsets, int64_t segment_count, int64_t count, int window,
                         const SegmentPlan& d_plan, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_
