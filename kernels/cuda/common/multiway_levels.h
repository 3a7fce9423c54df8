// The tree of merges within a tile that consists of several sorted pieces: which thread makes what on each level, and
// where in the tile it reads and writes. Host and device arithmetic.
//
// On level l, ranges of 2^l neighbouring pieces are merged in pairs.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_LEVELS_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_LEVELS_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/multiway_runs.h"

namespace corank::cuda {

/// Pairs on a level; the last one may lack its second range.
CORANK_HOST_DEVICE constexpr int LevelPairs(int ways, int level) { return (ways + (2 << level) - 1) >> (level + 1); }

/// What a thread makes on one level, in slots of the tile: outputs first to first + count - 1 of the merge of
/// [a_begin, a_end) and [b_begin, b_end), to be written from `out` on.
struct PairChunk {
  int a_begin, a_end, b_begin, b_end, first, count, out;
};

inline constexpr int kMaxLevels = 5;
static_assert((1 << kMaxLevels) == kMaxWays);

/// Where a tile's pieces lie, and which chunk each thread makes on each level. In shared memory. Positions count the
/// tile's keys. A piece is loaded to load_slot; from level 1 on, range r of a level (2^level pieces) starts r slots
/// behind its position. There is one free slot behind each piece and each range.
struct PieceTable {
  int start[kMaxWays + 1];                       // position of each piece; the end of the last
  int load_start[kMaxWays + 1];                  // in units of the load: keys or vectors
  int load_slot[kMaxWays];                       // of each piece's first key
  int slot_start[kMaxLevels][kMaxWays / 2 + 1];  // [level][pair]: the first thread that works on it; then the end

  CORANK_HOST_DEVICE int Start(int piece, int ways) const { return start[piece < ways ? piece : ways]; }
};

/// The chunk of thread `thread` on `level`; count is 0 where there is none.
template <int kItems>
CORANK_HOST_DEVICE PairChunk ChunkAt(const PieceTable& table, int ways, int level, int thread) {
  const int pairs = LevelPairs(ways, level);
  const int* threads = table.slot_start[level];
  if (thread >= threads[pairs]) return {0, 0, 0, 0, 0, 0, 0};
  int pair = 0;
  for (int step = kMaxWays / 4 >> level; step > 0; step /= 2) {
    if (pair + step < pairs && threads[pair + step] <= thread) pair += step;
  }
  const int piece = pair << (level + 1);
  const int begin = table.Start(piece, ways);
  const int middle = table.Start(piece + (1 << level), ways), end = table.Start(piece + (2 << level), ways);
  PairChunk chunk;
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
