// The plan of the segmented sort, made on the device.
//
// Positions are divided into windows. A segment longer than a window is long: it is sorted in pieces, one for each
// window that it touches, and the pieces are merged. The exception are giants, which are sorted by digits, tile by
// tile.
// that it has a part of, and the pieces are merged. Unless it is a giant: giants are sorted by digits, tile by tile.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/sort/segment_schedule.h"

namespace corank::cuda {

struct SegmentPlan {
  int64_t* longest;  // pieces of the longest segment to merge; 0: there is none
  int* giant_count;
  LongSegment* giants;       // unordered
  int* giant_tiles;          // tiles of the giants before each one, then of all; made by the kernel that sorts giants
  LongSegment* long_across;  // for each window and the end: the long segment across the window's start
  uint32_t* heads;           // count / 32 + 1 words: bit offsets[s] for every non-empty segment s, and bit count

  static constexpr int64_t Bytes(int64_t count, int window) {
    return kCountBytes + LongAcrossBytes(count, window) + GiantBytes(count) +
           (count / 32 + 1) * int64_t{sizeof(uint32_t)};
  }
  /// A plan in Bytes(count, window) bytes of memory.
  SegmentPlan(void* d_memory, int64_t count, int window)
      : longest(static_cast<int64_t*>(d_memory)),
        giant_count(reinterpret_cast<int*>(longest + 1)),
        giants(reinterpret_cast<LongSegment*>(longest + 2)),
        giant_tiles(reinterpret_cast<int*>(giants + MostGiants(count))),
        long_across(reinterpret_cast<LongSegment*>(static_cast<char*>(d_memory) + kCountBytes + GiantBytes(count))),
        heads(reinterpret_cast<uint32_t*>(long_across + LongAcrossBytes(count, window) / sizeof(LongSegment))) {}
  SegmentPlan() = default;

  static constexpr int64_t MostGiants(int64_t count) { return count / LongSegment::kLeastGiant; }

 private:
  static constexpr int64_t kCountBytes = 16;  // the arrays after it stay aligned
  static constexpr int64_t GiantBytes(int64_t count) {
    return MostGiants(count) * int64_t{sizeof(LongSegment)} + (MostGiants(count) / 4 + 1) * 16;
  }
  static constexpr int64_t LongAcrossBytes(int64_t count, int window) {
    return (count / window + 2) * int64_t{sizeof(LongSegment)};
  }
};

/// Enqueues a fill and one launch, which make the plan. offsets ascend from 0 to count.
cudaError_t PlanSegments(const int64_t* d_offsets, int64_t segment_count, int64_t count, int window,
                         const SegmentPlan& d_plan, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_PLAN_H_
