// The division of long segments into pieces, and the schedule of their merges. Pure arithmetic.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_SCHEDULE_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_SCHEDULE_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/run_pairs.h"

namespace corank::cuda {

/// A merge pass merges up to kMergeWays runs into one.
inline constexpr int kMergeLevels = 4;
inline constexpr int kMergeWays = 1 << kMergeLevels;

/// A long segment, [begin, end). end is 0 if there is none.
struct LongSegment {
  int64_t begin, end;

  /// Segments of at least this many keys are giants: they are sorted by digits instead of in pieces. Their counts have
  /// 30 bits.
  static constexpr int64_t kLeastGiant = (int64_t{1} << 18) + (int64_t{1} << 13);
  static constexpr int64_t kMostGiant = (int64_t{1} << 30) - 1;
  CORANK_HOST_DEVICE bool IsGiant() const { return end - begin >= kLeastGiant && end - begin <= kMostGiant; }
};

/// The schedule for merging the pieces of a long segment: the number of levels of pairwise merges, spread over the
/// passes as evenly as possible. The splits of the runs of the last pass, an eighth of the segment or less, have 32
/// bits up to kMaxShortSplits keys.
struct MergeSchedule {
  static constexpr int64_t kMaxShortSplits = int64_t{1} << 34;
  int levels = 0, passes = 0;

  CORANK_HOST_DEVICE explicit MergeSchedule(int64_t pieces) {
    while ((int64_t{1} << levels) < pieces) ++levels;
    passes = (levels + kMergeLevels - 1) / kMergeLevels;
  }
  /// The levels of all passes before `pass`.
  CORANK_HOST_DEVICE int LevelsBefore(int pass) const { return pass * (levels / passes) + Min(pass, levels % passes); }
};

/// A long segment, divided by its windows.
struct LongPieces {
  LongSegment segment;
  int window;

  CORANK_HOST_DEVICE int64_t FirstWindow() const { return segment.begin / window; }
  CORANK_HOST_DEVICE int64_t Count() const { return (segment.end - 1) / window - FirstWindow() + 1; }
  /// The beginning of piece `piece`. After the last piece: the end of the segment.
  CORANK_HOST_DEVICE int64_t Begin(int64_t piece) const {
    return Max(segment.begin, Min(segment.end, (FirstWindow() + piece) * window));
  }
};

/// The runs that a pass merges into the run with piece `piece` of a long segment.
struct MergeGroup {
  LongPieces pieces;
  int64_t first;              // piece
  int levels_before, levels;  // levels of merging before this pass, and in it

  CORANK_HOST_DEVICE MergeGroup(const LongPieces& long_pieces, const MergeSchedule& schedule, int pass, int64_t piece)
      : pieces(long_pieces), levels_before(schedule.LevelsBefore(pass)) {
    levels = schedule.LevelsBefore(pass + 1) - levels_before;
    first = piece & ~((int64_t{1} << (levels_before + levels)) - 1);
  }
  /// The beginning of run `run`. After the last run: the end of the group.
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
