// The tree of merges within a tile of several sorted pieces: the outputs of each thread on each level, and the places
// in the tile that it reads and writes. Arithmetic for host and device.
//
// On level l, ranges of 2^l adjacent pieces are merged in pairs.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_LEVELS_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_LEVELS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/multiway_runs.h"

namespace corank::cuda {

/// The number of pairs on a level. The last pair may lack its second range.
CORANK_HOST_DEVICE constexpr int LevelPairs(int ways, int level) { return (ways + (2 << level) - 1) >> (level + 1); }

/// The outputs of a thread on one level, in slots of the tile: outputs first to first + count - 1 of the merge of
/// [a_begin, a_end) and [b_begin, b_end), which it writes from `out` on. `pair` is the number of the pair.
struct PairChunk {
  int a_begin, a_end, b_begin, b_end, first, count, out;
  int pair;
};

inline constexpr int kMaxLevels = 5;
static_assert((1 << kMaxLevels) == kMaxWays);

/// The places of a tile's pieces, and the chunk of each thread on each level. Lies in shared memory. Positions count
/// the keys of the tile. A piece is loaded to load_slot. From level 1 on, range r of a level (2^level pieces) starts r
/// slots after its position. One free slot follows each piece and each range.
struct PieceTable {
  int start[kMaxWays + 1];                       // position of each piece; then the end of the last one
  int load_start[kMaxWays + 1];                  // in units of the load: keys or vectors
  int load_slot[kMaxWays];                       // slot of the first key of each piece
  int slot_start[kMaxLevels][kMaxWays / 2 + 1];  // [level][pair]: the first thread of the pair; then the end

  CORANK_HOST_DEVICE int Start(int piece, int ways) const { return start[piece < ways ? piece : ways]; }
};

/// Tells which outputs of a chunk come from the pair's second range, and the place on the previous level just before
/// the first output of each range. A place on a level is the number of the thread that makes the output there, times
/// kItems, plus the number of the output in that thread's chunk. Before level 0 it is the position of a key.
struct PathWord {
  uint32_t from_b;  // bit i: output i comes from the second range
  uint32_t places;  // of the first range; << 16: of the second range
};

/// The place on the previous level of output number `output` of a chunk.
CORANK_HOST_DEVICE uint32_t PlaceBefore(const PathWord& word, uint32_t output) {
#if defined(__CUDA_ARCH__)
  const uint32_t up_to = __funnelshift_lc(0, word.from_b, 31 - output);
  const auto of_b = static_cast<uint32_t>(__popc(up_to));
#else
  const uint32_t up_to = word.from_b << (31 - output);
  const auto of_b = static_cast<uint32_t>(__builtin_popcount(up_to));
#endif
  const bool from_b = (up_to >> 31) != 0;
  return from_b ? (word.places >> 16) + of_b - 1 : (word.places & 0xFFFF) + output - of_b;
}

/// About 2^20 / kItems, rounded up, so that SlotOfPlace divides exactly below both bounds.
template <int kItems>
inline constexpr uint32_t kPlaceFactor = (uint32_t{1} << 20) / kItems + 1;
template <int kItems>
inline constexpr uint32_t kPlaceLimit = std::min((uint32_t{1} << 20) / kItems, ~uint32_t{0} / kPlaceFactor<kItems>);
/// place / kItems, for places below kPlaceLimit.
template <int kItems>
CORANK_HOST_DEVICE constexpr uint32_t SlotOfPlace(uint32_t place) {
  return place * kPlaceFactor<kItems> >> 20;
}

/// The place of the first output of a pair. On level -1: of the first key of a piece.
template <int kItems>
CORANK_HOST_DEVICE int PlaceOfPair(const PieceTable& table, int ways, int level, int pair) {
  return level < 0 ? table.Start(pair, ways) : table.slot_start[level][pair] * kItems;
}

/// The chunk of thread `thread` on `level`. count is 0 if it has none.
template <int kItems>
CORANK_HOST_DEVICE PairChunk ChunkAt(const PieceTable& table, int ways, int level, int thread) {
  const int pairs = LevelPairs(ways, level);
  const int* threads = table.slot_start[level];
  if (thread >= threads[pairs]) return {0, 0, 0, 0, 0, 0, 0, 0};
  int pair = 0;
  for (int step = kMaxWays / 4 >> level; step > 0; step /= 2) {
    if (pair + step < pairs && threads[pair + step] <= thread) pair += step;
  }
  const int piece = pair << (level + 1);
  const int begin = table.Start(piece, ways);
  const int middle = table.Start(piece + (1 << level), ways), end = table.Start(piece + (2 << level), ways);
  PairChunk chunk;
  chunk.pair = pair;
  chunk.a_begin = level == 0 ? table.load_slot[piece] : begin + 2 * pair;
  chunk.a_end = chunk.a_begin + middle - begin;
  chunk.b_begin = level == 0 && piece + 1 < ways ? table.load_slot[piece + 1] : chunk.a_end + 1;
  chunk.b_end = chunk.b_begin + end - middle;
  chunk.first = (thread - threads[pair]) * kItems;
  chunk.count = end - begin - chunk.first < kItems ? end - begin - chunk.first : kItems;
  chunk.out = begin + pair + chunk.first;
  return chunk;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_LEVELS_H_
