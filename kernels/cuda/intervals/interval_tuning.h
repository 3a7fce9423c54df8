// Sizes of the interval kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_

#include <cstdint>

#include "kernels/cuda/common/multiprocessor.h"

namespace corank::cuda {

// Measured on sm_90 only. Other architectures use the same sizes.
struct IntervalTuning {
  static constexpr int kThreads = 256;
  /// Units that a block places at a time.
  static constexpr int kWindow = 8192;
  /// Fewest intervals in a tile, except for the last one.
  static constexpr int kLeastTile = 32;
  static_assert(kWindow == 32 * kThreads && kThreads == 8 * 32, "a thread clears, a lane counts 8 words of the bitmap");
};

/// For operators with consecutive results (interval_walk.cuh).
struct WalkTuning {
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 4;  // on each multiprocessor
  /// The same for the kernel that sums counts, which uses few registers: enough blocks for all threads of a
  /// multiprocessor.
  static constexpr int kSumBlocksResident = kMultiprocessorThreads / kThreads;
  /// Units of one bitmap of a warp.
  static constexpr int kWindow = 1024;
  /// Most blocks that sum counts: as many as an H200 runs at a time.
  static constexpr int kSumBlocks = 1024;
  /// Intervals with fewer units on average are short, and a lane holds more of them.
  static constexpr int kShortMean = 16;
  /// The sum of such counts over the lanes of a warp is less than 2^31.
  static constexpr int64_t kMostNarrow = (1 << 26) - 1;
  /// The sum of such counts over the lanes of a warp is less than kNowhere, so that positions stay below it.
  static constexpr int64_t kMostPlaced = kMostNarrow / 2;
  static constexpr int kNowhere = 1 << 30;
  static_assert(32 * kMostPlaced < kNowhere, "with a line of the cache before them");
  static_assert(kWindow == 32 * 32, "a lane counts a word of the bitmap");
};

/// `items`: intervals in a lane. `task`: units and intervals of a warp in total.
template <int items, int task>
struct WalkSizes {
  static constexpr int kItems = items;
  static constexpr int kGroup = 32 * items;
  static constexpr int kTask = task;
};

/// Short intervals in a lane.
constexpr int ShortItems(int unit_bytes) { return unit_bytes <= 4 ? 8 : 16 * 2 / unit_bytes; }

template <int items, int unit_bytes>
using ExpandTuning = WalkSizes<items, unit_bytes >= 8 ? 1024 : 8192 / unit_bytes>;
template <int items, int index_bytes>
using LoadBalanceTuning = WalkSizes<items, (items > 2 ? 8192 : 4096) / index_bytes>;

struct MoveTuning {
  static constexpr int kItems = 2;                                 // intervals that a thread scans
  static constexpr int kTile = IntervalTuning::kThreads * kItems;  // the largest number of intervals
  static constexpr int kTileUnits = 8192;                          // a tile has about this many units
  /// A block that finds more units than this leaves the tile to the second launch.
  static constexpr int kOwnUnits = 4 * kTileUnits;
  static constexpr int kBlocks = 3;  // on each multiprocessor
  /// Blocks of the second launch: as many as fill an H200.
  static constexpr int kRestBlocks = kTunedMultiprocessors * kBlocks;
  static constexpr int kBatch = 4;  // units that a thread has in flight
  /// Blocks of the first launch if Move also uses bins.
  static constexpr int kLeftBlocks = 8 * kTunedMultiprocessors * kBlocks;
  /// Intervals shorter than kShortBytes on average have words as units. Others have 16-byte blocks: pairs of them,
  /// which are sectors of the cache, and from kLongBytes on groups of 8, which are its lines.
  static constexpr int kShortBytes = 160;
  static constexpr int kLongBytes = 768;
};

/// For Move through bins: intervals of a few words at scattered places.
struct BinTuning {
  static constexpr int kThreads = 1024;
  static constexpr int kBlocks = 1;  // on each multiprocessor
  static constexpr int kBins = 1536;
  /// Words that a block sorts by bin. More words in each bin mean fewer fillers. These take 180 KB of shared memory.
  static constexpr int kRecords = 16384;
  static constexpr int kSectorRecords = 4;  // in 32 bytes
  /// Intervals of a thread if most have one word, and otherwise.
  static constexpr int kSingleSlots = kRecords / kThreads;
  static constexpr int kSlots = 8;
  static constexpr int kMostWords = 32;  // of an interval that goes to a bin
  /// Words of a bin that a block collects at a time.
  static constexpr int kPartWords = 45 * 1024;
  static constexpr int kFromBlocks = kTunedMultiprocessors * kBlocks;
  /// The survey: intervals for each thread, and the distance below which the next interval counts as near.
  static constexpr int kSamples = 8;
  static constexpr int kNearWords = 64;
  /// Bins pay for short intervals only, from more words on than the cache of an H200 holds, and up to the number at
  /// which too many parts read each bin.
  static constexpr int64_t kLeastWords = int64_t{1} << 24;
  static constexpr int64_t kMostAllWords = int64_t{1} << 30;
  static constexpr int64_t kLongMean = 8;
};

/// For the overlap check by bits (overlap_bits.cu).
struct OverlapTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 2;  // intervals of a thread at a time
  /// Whole 64-bit words of an interval that one thread takes. A warp takes up to kWindow, and all blocks share longer
  /// ones.
  static constexpr int kOwnWords = 4;
  static constexpr int kWindow = 256;
  /// Most blocks of a launch that may find nothing to do.
  static constexpr int kBlocks = kLoopingBlocks;
  /// Bits are cheaper than a sort from this many intervals on, and up to this many elements of the destination for each
  /// interval.
  static constexpr int64_t kLeastIntervals = 8192;
  static constexpr int64_t kMostElements = 384;
};

/// The largest power of two, up to 16, that divides an element.
constexpr int UnitBytes(int element_bytes) {
  const int lowest_bit = element_bytes & -element_bytes;
  return lowest_bit < 16 ? lowest_bit : 16;
}

/// Intervals in a tile, for `count` > 0 intervals with about `units` units in total.
template <typename Tuning>
constexpr int TileIntervals(int64_t count, int64_t units) {
  const int64_t mean = units / count;
  if (mean <= Tuning::kTileUnits / Tuning::kTile) return Tuning::kTile;
  // A multiple of the vector width in which offsets are read.
  const int64_t tile = Tuning::kTileUnits / mean / 4 * 4;
  return static_cast<int>(tile < IntervalTuning::kLeastTile ? IntervalTuning::kLeastTile : tile);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
