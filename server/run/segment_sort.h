// Sorts the segments of a large array in host memory, tile by tile.
#ifndef CORANK_SERVER_RUN_SEGMENT_SORT_H_
#define CORANK_SERVER_RUN_SEGMENT_SORT_H_

#include <cstdint>
#include <vector>

#include "server/run/device_ops/sort.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/job_memory.h"
#include "server/run/row_sink.h"
#include "server/run/row_source.h"

namespace corank {

/// Cuts an array between segments. Several short segments are a tile, which the device sorts at once, while another
/// tile is copied in and a third is copied out. A segment that is longer than a tile is sorted as an array of its own
/// (RunSorter) between two tiles. Used by one thread; its arguments outlive it.
class SegmentSorter {
 public:
  /// `arrays`: complete; the keys, then the values if the sort has any. `piece_bytes`: of RunSorter.
  SegmentSorter(const SortOperation::Spec& sort, const std::vector<RowSource::Array>& arrays, int64_t piece_bytes,
                JobMemory* memory, Lane* lane, v1::RequestStats* stats);

  /// Sorts all segments into the sink. Nothing is in progress when this returns.
  absl::Status SortInto(RowSink& sink);
  /// The algorithm that sorted the first tile or segment. After SortInto.
  SortAlgorithm algorithm() const { return algorithm_; }
  /// Runs that were merged, of all long segments together.
  int64_t runs() const { return runs_; }

  /// Upper bounds of the memory: device memory, at most the job's share, and pinned memory. The offsets of the segments
  /// may be pending.
  static int64_t DeviceBytes(const SortOperation::Spec& sort, int64_t piece_bytes, int64_t tile_bytes,
                             const JobMemory& memory, const Engine& engine);
  static int64_t HostBytes(const SortOperation::Spec& sort, int64_t piece_bytes, const JobMemory& memory);

 private:
  absl::Status SortTile(int64_t first, const std::vector<int64_t>& offsets, EngineStreamRing& turns, RowSink& sink);
  absl::Status SortSegment(int64_t begin, int64_t end, RowSink& sink);
  void Note(SortAlgorithm algorithm) {
    if (algorithm_ == SortAlgorithm::kAuto) algorithm_ = algorithm;
  }

  const SortOperation::Spec& sort_;
  const std::vector<RowSource::Array>& arrays_;
  const RowShape shape_;
  const int64_t piece_bytes_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  SortAlgorithm algorithm_ = SortAlgorithm::kAuto;
  int64_t runs_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SEGMENT_SORT_H_
