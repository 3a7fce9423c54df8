// What a tile sort holds for keys of 8 bytes that have a payload: words of 8 bytes, of which no two are equal, and of
// which one moves as cheaply as a key alone.
//
// A word is a rank, without the highest bits that all ranks of the tile have in common, above a place, which takes
// kPlaceBits from its lowest end. Few tiles miss those bits: two ranks must agree in all bits above them. Where they do
// and stand in the wrong order, the tile is sorted again, by the lowest bits, and then by the others. kRounds counts
// all three.
#ifndef CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_
#define CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

template <int kTile>
struct TileWords {
  /// The place with all bits is none: the greatest word stays free.
  static constexpr int kPlaceBits = CeilLog2(kTile + 1);
  static constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  static constexpr int kRounds = 3;

  /// What a rank is shifted by in a round; common: the highest bits that the tile's ranks agree in, 63 at most.
  static CORANK_HOST_DEVICE int ShiftOf(int round, int common) { return round == 1 ? 64 - kPlaceBits : common; }
  /// Whether words of the first round have all bits in which ranks differ.
  static CORANK_HOST_DEVICE bool HoldAllBits(int common) { return common >= kPlaceBits; }

  static CORANK_HOST_DEVICE uint64_t Make(uint64_t rank, int shift, int place) {
    return (rank << shift & ~kPlaceMask) | static_cast<uint64_t>(place);
  }
  static CORANK_HOST_DEVICE int PlaceOf(uint64_t word) { return static_cast<int>(word & kPlaceMask); }
  /// Of two neighbours in order: whether only their places tell them apart.
  static CORANK_HOST_DEVICE bool AreTied(uint64_t word, uint64_t next) { return (word ^ next) <= kPlaceMask; }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_
