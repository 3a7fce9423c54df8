// Sizes of the interval kernels. Tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_

#include <cstdint>

namespace corank::cuda {

// Measured on sm_90 only; the other architectures run the same sizes.
struct IntervalTuning {
  static constexpr int kThreads = 256;
  /// A block places this many units at a time.
  static constexpr int kWindow = 8192;
  /// Fewest intervals in a tile, but for the last one.
  static constexpr int kLeastTile = 32;
  /// Tiles that a lane looks back at together.
  static constexpr int kLookBack = 8;
  static_assert(kWindow == 32 * kThreads && kThreads == 8 * 32, "a thread clears, a lane counts 8 words of the bitmap");
};

/// Of one operator. `items`: intervals that a thread scans. `tile_units`: a tile has as many intervals as have about
/// this many units. `blocks`: for each multiprocessor.
template <int items, int tile_units, int blocks>
struct OperatorTuning {
  static constexpr int kItems = items;
  static constexpr int kTile = IntervalTuning::kThreads * items;  // most intervals
  static constexpr int kTileUnits = tile_units;
  /// A block that finds more than this leaves the tile to the second launch,
  static constexpr int kOwnUnits = 4 * tile_units;
  static constexpr int kBlocks = blocks;
  /// which has as many blocks as fill an H200.
  static constexpr int kRestBlocks = 132 * blocks;
};

using ExpandTuning = OperatorTuning<4, 16384, 5>;
using LoadBalanceTuning = OperatorTuning<8, 16384, 4>;

struct MoveTuning : OperatorTuning<2, 8192, 3> {
  static constexpr int kBatch = 4;  // units that a thread has in flight
  /// Below this many bytes on average units are words; from there on they are 16-byte blocks: in pairs, which are
  /// sectors of the cache, and for long intervals in groups of 8, which are its lines.
  static constexpr int kShortBytes = 160;
  static constexpr int kLongBytes = 768;
};

/// The widest power of two, up to 16, that divides an element.
constexpr int UnitBytes(int element_bytes) {
  const int lowest_bit = element_bytes & -element_bytes;
  return lowest_bit < 16 ? lowest_bit : 16;
}

/// Intervals in a tile, for `count` > 0 intervals with about `units` units in all.
template <typename Tuning>
constexpr int TileIntervals(int64_t count, int64_t units) {
  const int64_t mean = units / count;
  if (mean <= Tuning::kTileUnits / Tuning::kTile) return Tuning::kTile;
  // A multiple of the vectors in which offsets are read.
  const int64_t tile = Tuning::kTileUnits / mean / 4 * 4;
  return static_cast<int>(tile < IntervalTuning::kLeastTile ? IntervalTuning::kLeastTile : tile);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
