// The elements of a tile sort of 8-byte keys with a payload: words of 8 bytes, all different, which move as cheaply as
// a key alone.
//
// A word is a rank, without the highest bits that all ranks of the tile share, above a place. The place replaces the
// kPlaceBits lowest bits. Few tiles miss these bits: two ranks must agree in all higher bits. If some do and are in the
// wrong order, the tile is sorted again: by the lowest bits, and then by the others. kRounds counts all three sorts.
#ifndef CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_
#define CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

template <int kTile>
struct TileWords {
  /// The place with all bits set is unused, so that the greatest word stays free.
  static constexpr int kPlaceBits = CeilLog2(kTile + 1);
  static constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  static constexpr int kRounds = 3;

  /// The shift of a rank in a round. common: the number of highest bits that the tile's ranks share, 63 at most.
  static CORANK_HOST_DEVICE int ShiftOf(int round, int common) { return round == 1 ? 64 - kPlaceBits : common; }
  /// Whether words of the first round contain all bits in which ranks differ.
  static CORANK_HOST_DEVICE bool HoldAllBits(int common) { return common >= kPlaceBits; }

  static CORANK_HOST_DEVICE uint64_t Make(uint64_t rank, int shift, int place) {
    return (rank << shift & ~kPlaceMask) | static_cast<uint64_t>(place);
  }
  static CORANK_HOST_DEVICE int PlaceOf(uint64_t word) { return static_cast<int>(word & kPlaceMask); }
  /// Whether only their places distinguish two neighbours in order.
  static CORANK_HOST_DEVICE bool AreTied(uint64_t word, uint64_t next) { return (word ^ next) <= kPlaceMask; }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_TILE_WORDS_H_
