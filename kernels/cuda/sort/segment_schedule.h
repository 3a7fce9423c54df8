// How long segments are cut into pieces and merged. Pure arithmetic.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_SCHEDULE_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_SCHEDULE_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/run_pairs.h"

namespace corank::cuda {

/// A merge pass makes one run of up to kMergeWays.
inline constexpr int kMergeLevels = 4;
inline constexpr int kMergeWays = 1 << kMergeLevels;

/// A long segment, [begin, end); end is 0 where there is none.
struct LongSegment {
  int64_t begin, end;

  /// Segments of so many keys are giants: not cut into pieces, but sorted by digits. Their counts have 30 bits.
  static constexpr int64_t kLeastGiant = (int64_t{1} << 18) + (int64_t{1} << 13);
  static constexpr int64_t kMostGiant = (int64_t{1} << 30) - 1;
  CORANK_HOST_DEVICE bool IsGiant() const { return end - begin >= kLeastGiant && end - begin <= kMostGiant; }
};

/// How the pieces of a long segment are merged: so many levels of merging two, as even in number as they can be in each
/// pass. Splits of runs of the last pass, an eighth of the segment or less, have 32 bits up to kMaxShortSplits keys.
struct MergeSchedule {
  static constexpr int64_t kMaxShortSplits = int64_t{1} << 34;
  int levels = 0, passes = 0;

  CORANK_HOST_DEVICE explicit MergeSchedule(int64_t pieces) {
    while ((int64_t{1} << levels) < pieces) ++levels;
    passes = (levels + kMergeLevels - 1) / kMergeLevels;
  }
  /// Levels of the passes before `pass`.
  CORANK_HOST_DEVICE int LevelsBefore(int pass) const { return pass * (levels / passes) + Min(pass, levels % passes); }
};

/// A long segment as its windows cut it.
struct LongPieces {
  LongSegment segment;
  int window;

  CORANK_HOST_DEVICE int64_t FirstWindow() const { return segment.begin / window; }
  CORANK_HOST_DEVICE int64_t Count() const { return (segment.end - 1) / window - FirstWindow() + 1; }
  /// Where piece `piece` begins; the segment's end for those after the last.
  CORANK_HOST_DEVICE int64_t Begin(int64_t piece) const {
    return Max(segment.begin, Min(segment.end, (FirstWindow() + piece) * window));
  }
};

/// The runs that a pass merges into the one that piece `piece` of a long segment belongs to.
struct MergeGroup {
  LongPieces pieces;
  int64_t first;              // piece
  int levels_before, levels;  // of merging, before this pass and in it

  CORANK_HOST_DEVICE MergeGroup(const LongPieces& long_pieces, const MergeSchedule& schedule, int pass, int64_t piece)
      : pieces(long_pieces), levels_before(schedule.LevelsBefore(pass)) {
    levels = schedule.LevelsBefore(pass + 1) - levels_before;
    first = piece & ~((int64_t{1} << (levels_before + levels)) - 1);
  }
  /// Where run `run` begins; the group's end for the run after the last.
  CORANK_HOST_DEVICE int64_t RunBegin(int run) const {
    return pieces.Begin(first + (static_cast<int64_t>(run) << levels_before));
  }
  CORANK_HOST_DEVICE int64_t RunCount(int run) const {
    return run < 1 << levels ? RunBegin(run + 1) - RunBegin(run) : 0;
  }
  CORANK_HOST_DEVICE int64_t End() const { return RunBegin(1 << levels); }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_SCHEDULE_H_
