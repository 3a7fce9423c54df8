// Tile sizes of the segmented sort. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_TUNING_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_TUNING_H_

#include <cstdint>

namespace corank::cuda {

/// A block of `threads` threads takes one window of positions. A thread sorts or merges `items` keys.
struct SegmentTuning {
  int items;
  int threads;
  int blocks;        // of the window kernel that must fit on a multiprocessor: limits the registers
  int merge_blocks;  // the same for the merge kernel

  /// Keys of a window. One block sorts a segment of at most this length; longer ones are merged.
  constexpr int Window() const { return items * threads; }
};

/// Measured on sm_90 (H200), 2^26 uniform keys.
constexpr SegmentTuning SegmentTuningFor(int key_bytes, bool payload) {
  if (key_bytes == 8) return SegmentTuning{16, 128, payload ? 4 : 5, payload ? 4 : 5};
  return payload ? SegmentTuning{16, 128, 7, 6} : SegmentTuning{16, 256, 5, 4};
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_TUNING_H_
