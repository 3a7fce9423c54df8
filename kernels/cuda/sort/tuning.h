// Tile sizes of the sorts. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SORT_TUNING_H_
#define CORANK_KERNELS_CUDA_SORT_TUNING_H_

#include <cstdint>

#include "kernels/cuda/common/merge_form.h"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {

/// Static shared memory of a block, on every architecture.
inline constexpr int kMaxSharedBytes = 48 * 1024;

/// One kernel: `items` keys for each thread; `blocks` that must fit on a multiprocessor limit the registers.
struct TileTuning {
  int items;
  int threads;
  int blocks;

  constexpr int Tile() const { return items * threads; }
};

/// Mergesort. An odd number of items keeps threads that walk their own keys in shared memory in different banks; 32
/// items turn the tile sort into a row sort (row_sort.cuh). Longer tiles save co-ranks and passes. Shorter ones let
/// more blocks share a multiprocessor, so that the loads of one hide behind the merges of another, and let small arrays
/// use all multiprocessors.
struct MergesortTuning {
  TileTuning sort;
  TileTuning merge;
  int max_ways_log;  // runs that a pass merges: 8 bytes for each run and tile must stay below 1 % of the keys

  constexpr int SortTile() const { return sort.Tile(); }
  constexpr int MergeTile() const { return merge.Tile(); }
};

/// Measured on sm_90 (H200), 2^28 uniform keys.
constexpr MergesortTuning MergesortTuningFor(int key_bytes, MergeForm form) {
  switch (form) {
    case MergeForm::kKeys:
      if (key_bytes == 8) return {{17, 256, 4}, {23, 256, 4}, 5};
      return {{32, 256, 4}, {39, 256, 4}, key_bytes == 1 ? 3 : key_bytes == 2 ? 4 : 5};
    case MergeForm::kPayload:
      if (key_bytes == 8) return {{17, 256, 4}, {21, 256, 4}, 5};
      return {{17, 256, 4}, {19, 256, 4}, key_bytes == 1 ? 4 : 5};
    case MergeForm::kWords:
      break;
  }
  return {{17, 256, 4}, {23, 256, 4}, 5};
}

/// Odd-even mergesort. The window is the tile that is sorted, and later merged, in shared memory. 256 threads are
/// faster than 512 and 1024, because they wait less at the barrier after each step. Measured on an H200.
struct OddEvenTuning {
  int window;
  int threads;
};

constexpr OddEvenTuning OddEvenTuningFor(int key_bytes, int index_bytes) {
  const int bytes = key_bytes + index_bytes;
  return {bytes <= 4 ? 8192 : bytes <= 8 ? 4096 : 2048, 256};
}

/// AUTO uses RADIX from this count on, and MERGESORT below it, which is then the small sort (small_sort_tuning.h). Each
/// digit costs the radix sort a fixed time, but nothing if it is the same in all keys. Measured on an H200.
constexpr int64_t AutoRadixCount(int key_bytes) { return (int64_t{1} << (key_bytes >= 4 ? 19 : 17)) + 1; }

/// AUTO looks at the data from this count on: a query of the device takes about 12 us.
inline constexpr int64_t kAutoLookCount = int64_t{1} << 22;

/// Up to this count, AUTO uses MERGESORT instead of RADIX for random-looking 8-byte keys with 4 or 8 bytes of payload:
/// RADIX moves them eight times, MERGESORT at most five times. 0: never. Measured on an H200, up to 2^30.
constexpr int64_t AutoMergesortCount(int key_bytes, int payload_bytes) {
  if (key_bytes != 8) return 0;
  return payload_bytes == 8 ? int64_t{1} << 30 : payload_bytes == 4 ? int64_t{1} << 28 : 0;
}

/// Up to this count, AUTO counts the digits of RADIX while the host waits for the sample, which takes about as long.
/// With more keys, sorted ones would wait for the count. Measured on an H200.
inline constexpr int64_t kAutoEarlyHistogramCount = int64_t{1} << 23;

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_TUNING_H_
