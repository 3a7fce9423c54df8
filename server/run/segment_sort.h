// Sorts the segments of a large array in host memory, tile by tile.
#ifndef CORANK_SERVER_RUN_SEGMENT_SORT_H_
#define CORANK_SERVER_RUN_SEGMENT_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/run/device_ops/sort.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/job_memory.h"
#include "server/run/row_sink.h"
#include "server/run/row_source.h"

namespace corank {

/// Whole segments that a device sorts at once.
class SegmentTile {
 public:
  /// Enqueues a copy of the tile's rows of a column, of the keys (0) or the values (1), to memory of the device.
  using Take = absl::FunctionRef<absl::Status(int column, void* d_to)>;

  /// `first`: the row, of all, with which it begins.
  explicit SegmentTile(int64_t first) : first_(first) {}
  /// Adds the next segment, which ends before row `end` of all.
  void Add(int64_t end) {
    if (end - first_ > offsets_.back()) offsets_.push_back(end - first_);  // others are empty
  }

  int64_t first() const { return first_; }
  int64_t rows() const { return offsets_.back(); }
  /// That are not empty.
  int64_t segments() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// The rows that it returns: of each segment at most `limit`, -1 for all.
  int64_t ResultCount(int64_t limit) const;
  /// Enqueues a copy of the offsets of its segments, which count from its first row.
  absl::StatusOr<const int64_t*> UploadOffsets(EngineStream& stream) const;
  /// Enqueues the sort. Returns its arguments, which tell where the results are. `sort`: of all rows.
  absl::StatusOr<SortArgs> Sort(EngineStream& stream, const SortOperation::Spec& sort, Take take,
                                OperatorReport* report) const;

  /// What Sort takes of the device, beside the workspace.
  static int64_t DeviceBytes(const RowShape& shape, int64_t rows, int64_t segments) {
    return 2 * rows * shape.row_bytes() + OffsetBytes(segments);
  }
  /// What UploadOffsets takes of the device, and of pinned memory.
  static int64_t OffsetBytes(int64_t segments) { return (segments + 1) * static_cast<int64_t>(sizeof(int64_t)); }

 private:
  const int64_t first_;
  std::vector<int64_t> offsets_{0};
};

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
  absl::Status SortTile(const SegmentTile& segments, EngineStreamRing& turns, RowSink& sink);
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
