// Tile sizes of the sorts. The tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_SORT_TUNING_H_
#define CORANK_KERNELS_CUDA_SORT_TUNING_H_

#include <cstdint>

namespace corank::cuda {

/// Static shared memory of a block, on every architecture.
inline constexpr int kMaxSharedBytes = 48 * 1024;

/// What the mergesort carries, since it decides what fits.
enum class MergesortForm {
  kKeys,       // integer keys
  kFloatKeys,  // float keys: the block sort carries each key's 16-bit position in the tile
  kPayload     // keys with a payload: both kernels carry positions
};

/// Mergesort. `items` keys a thread, odd, so that threads that walk their own keys in shared memory meet in no bank;
/// one value for both kernels, so that sort tiles are whole merge tiles. Longer tiles save whole passes over memory and
/// cost a block-level round for each doubling; shorter ones let more blocks share a multiprocessor.
struct MergesortTuning {
  int items;
  int sort_threads;
  int sort_blocks;  // that must fit a multiprocessor: bounds the registers
  int merge_threads;

  constexpr int SortTile() const { return items * sort_threads; }
  constexpr int MergeTile() const { return items * merge_threads; }
};

/// Measured on sm_90 (H200), 2^20 to 2^28 uniform keys.
constexpr MergesortTuning MergesortTuningFor(int key_bytes, MergesortForm form) {
  switch (form) {
    case MergesortForm::kKeys:
      return key_bytes == 8 ? MergesortTuning{19, 256, 4, 256} : MergesortTuning{21, 512, 2, 256};
    case MergesortForm::kFloatKeys:
      return key_bytes == 8 ? MergesortTuning{9, 512, 2, 256} : MergesortTuning{15, 512, 2, 256};
    default:
      return key_bytes == 8 ? MergesortTuning{9, 512, 2, 256} : MergesortTuning{9, 512, 3, 256};
  }
}

/// Odd-even mergesort. The window is the tile that is sorted, and later merged, in shared memory.
struct OddEvenTuning {
  int window;
  int threads;
};

constexpr OddEvenTuning OddEvenTuningFor(int key_bytes, int index_bytes) {
  return key_bytes + index_bytes <= 8 ? OddEvenTuning{4096, 512} : OddEvenTuning{2048, 512};
}

/// AUTO takes RADIX from this count on, MERGESORT below it: each digit costs the radix sort a fixed time, and wide keys
/// have many. Float keys cost it twice the traffic, for they travel as (rank, index) pairs. Measured on an H200.
constexpr int64_t AutoRadixCount(int key_bytes, bool is_float) {
  if (key_bytes == 8) return int64_t{1} << (is_float ? 22 : 21);
  if (key_bytes == 4 || is_float) return int64_t{1} << 17;
  return 0;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_TUNING_H_
