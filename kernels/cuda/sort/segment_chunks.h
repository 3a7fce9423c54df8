// The work of one thread in a tile of segments: the places of keys, the merge of a few outputs into registers, and the
// code of a chunk. Pure arithmetic, for the device and for tests without one.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_CHUNKS_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_CHUNKS_H_

#include <cstdint>

#include "kernels/common/merge_path.h"
#include "kernels/common/types.h"
#include "kernels/cuda/common/unroll.h"

namespace corank::cuda {

/// Keys that a merge may read before and after a tile, without using them.
inline constexpr int kTileSlack = 32;

/// The place of key i of a tile in shared memory. -kTileSlack <= i < capacity + kTileSlack.
template <typename Bits>
CORANK_HOST_DEVICE constexpr int Padded(int i) {
  return i + (i >> (sizeof(Bits) == 8 ? 4 : 5)) + kTileSlack + (sizeof(Bits) == 8 ? 2 : 1);
}

/// Keys from `begin` upwards or downwards, in the form that CoRank reads.
template <typename Bits, int kStep>
struct PaddedKeys {
  const Bits* keys;
  int begin;
  CORANK_HOST_DEVICE Bits operator[](int i) const { return keys[Padded<Bits>(begin + kStep * i)]; }
};

/// Merges outputs first to first + kItems - 1 of two runs of a tile into registers: [begin, middle), sorted, and
/// [middle, end), sorted backwards. The greatest keys of both runs meet, so neither end needs a check: the key after
/// the last of one run is the last of the other. Outputs past the end are unspecified. With kPositions, sources[i] is
/// the position of output i in the tile.
template <bool kPositions, typename Bits, int kItems>
CORANK_HOST_DEVICE void MergeChunk(const Bits* tile, int begin, int middle, int end, int first, Bits (&keys)[kItems],
                                   uint32_t (&sources)[kItems]) {
  int a = CoRank<int>(first, PaddedKeys<Bits, 1>{tile, begin}, middle - begin, PaddedKeys<Bits, -1>{tile, end - 1},
                      end - middle, [](Bits x, Bits y) { return x < y; });
  const int b = end - 1 - (first - a);
  a += begin;
  Bits a_key = tile[Padded<Bits>(a)], b_key = tile[Padded<Bits>(b)];
  // Every output moves one of the two places by one, so one place and the number of outputs determine the other.
  int next_a = a + 1;
  const int next_b = b - 1 - next_a;
  CORANK_UNROLL
  for (int i = 0; i < kItems; ++i) {
    bool take_a = !(b_key < a_key);
    // A first-run cursor that reaches the second run finds its last key, which must not come before its equals.
    if constexpr (kPositions) take_a = take_a && next_a <= middle;
    keys[i] = take_a ? a_key : b_key;
    int next = take_a ? next_a : next_a + next_b - i;
    if constexpr (kPositions) sources[i] = static_cast<uint32_t>(take_a ? next - 1 : next + 1);
    if (i + 1 < kItems) {
      // Opaque, because the compiler would split each choice into several additions.
      asm("" : "+r"(next));
      if (take_a) ++next_a;
      const Bits key = tile[Padded<Bits>(next)];
      a_key = take_a ? key : a_key;
      b_key = take_a ? b_key : key;
    }
  }
}

/// A chunk in 32 bits: the beginning of its segment in the window, the segment's length minus 1, the number of the
/// chunk.
struct ChunkCode {
  static constexpr int kBeginBits = 12, kLengthBits = 12;

  static CORANK_HOST_DEVICE uint32_t Of(int begin, int length, int chunk) {
    return static_cast<uint32_t>(begin | (length - 1) << kBeginBits | chunk << (kBeginBits + kLengthBits));
  }
  static CORANK_HOST_DEVICE int Begin(uint32_t code) { return code & ((1 << kBeginBits) - 1); }
  static CORANK_HOST_DEVICE int Length(uint32_t code) {
    return static_cast<int>(code >> kBeginBits & ((1 << kLengthBits) - 1)) + 1;
  }
  static CORANK_HOST_DEVICE int Chunk(uint32_t code) { return static_cast<int>(code >> (kBeginBits + kLengthBits)); }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_CHUNKS_H_
