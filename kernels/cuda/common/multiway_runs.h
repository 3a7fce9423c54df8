// The sorted runs of a k-way merge, and the tiles that the merge is cut into. Arithmetic for host and device.
//
// A merge works on groups of up to kMaxWays runs; each group becomes one run. One launch merges all groups
// independently. A Runs type locates the runs:
//   EvenRuns     runs of equal width, one after the other in one array (the passes of a mergesort);
//   ListedRuns   one group; each run anywhere (the operator Merge, arrays that consist of a few runs).
//
// Runs with kRaw may hold raw keys instead of ranks, may be unsorted, and may have no payload of their own.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_RUNS_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_RUNS_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

/// Most runs that one pass merges into one. A warp finds the co-ranks of a tile, one lane for each run.
inline constexpr int kMaxWays = 32;

/// If there are more tiles than kMultiwayShort, one in kMultiwayCoarse is found in the whole runs, and the others
/// between those. That takes fewer and nearer probes, but one more launch. Measured on an H200.
inline constexpr int kMultiwayCoarse = 16;
inline constexpr int64_t kMultiwayShort = 8192;

/// One sorted run, which may be empty.
template <typename Bits>
struct Run {
  const Bits* keys;
  const void* payload;  // null: the payload of key i is the number first + i
  int64_t count;
  int64_t first;
  int step = 1;  // distance between keys, and between payloads; 2 in words, payload before key

  CORANK_HOST_DEVICE const Bits& Key(int64_t i) const { return keys[i * step]; }
};

template <typename Bits>
struct EvenRuns {
  static constexpr bool kRaw = false;
  const Bits* keys;
  const void* payload;
  int payload_bytes;
  int64_t count;  // keys in all runs together
  int64_t width;  // keys in a run; the last one may be shorter
  int ways;       // runs in a group; the last group may have fewer
  int step = 1;   // Run::step

  CORANK_HOST_DEVICE int64_t GroupStart(int64_t group) const { return group * ways * width; }
  CORANK_HOST_DEVICE int64_t GroupCount(int64_t group) const {
    return Clamp(count - GroupStart(group), 0, ways * width);
  }
  CORANK_HOST_DEVICE Run<Bits> RunAt(int64_t group, int way) const {
    const int64_t first = Clamp(GroupStart(group) + way * width, 0, count);
    const int64_t bytes = first * payload_bytes * step;
    const void* const at = payload == nullptr ? nullptr : static_cast<const char*>(payload) + bytes;
    return {keys + first * step, at, Clamp(count - first, 0, width), first, step};
  }
};

template <typename Bits>
struct ListedRuns {
  static constexpr bool kRaw = true;
  static constexpr int step = 1;
  Run<Bits> runs[kMaxWays];
  int64_t count;  // keys in all runs together
  int ways;

  CORANK_HOST_DEVICE int64_t GroupStart(int64_t) const { return 0; }
  CORANK_HOST_DEVICE int64_t GroupCount(int64_t) const { return count; }
  CORANK_HOST_DEVICE Run<Bits> RunAt(int64_t, int way) const { return runs[way]; }
};

/// The tiles of a merge: each group of `group_count` keys has tiles_per_group tiles. Tile t of a group starts at an
/// output in [t * tile - slack, t * tile], so that no tile is longer than tile + slack.
struct MultiwayTiles {
  int64_t tile;
  int64_t slack;
  int64_t tiles_per_group;
  int64_t tiles;  // tiles to make: those with the first result_count outputs

  /// `max_tile`: the longest tile of a block. `longest_group`: keys in each group but the last. `count`: keys in total.
  static MultiwayTiles Cut(int64_t count, int64_t longest_group, int64_t result_count, int64_t max_tile) {
    MultiwayTiles cut{};
    cut.slack = max_tile / 64;
    cut.tiles_per_group = CeilDiv(longest_group, max_tile - cut.slack);
    cut.tile = CeilDiv(longest_group, cut.tiles_per_group);
    const int64_t full_groups = count / longest_group;
    const int64_t rest = count - full_groups * longest_group;
    const int64_t all = full_groups * cut.tiles_per_group + CeilDiv(rest, cut.tile);
    cut.tiles = all;
    if (full_groups + (rest > 0 ? 1 : 0) == 1) {
      const int64_t wanted = CeilDiv(result_count + cut.slack, cut.tile);
      if (wanted < all) cut.tiles = wanted;
    }
    return cut;
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_RUNS_H_
