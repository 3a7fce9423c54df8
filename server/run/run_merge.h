// Merges sorted runs. Co-rank cuts the merge into tiles, which are made and leave one after the other.
#ifndef CORANK_SERVER_RUN_RUN_MERGE_H_
#define CORANK_SERVER_RUN_RUN_MERGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/common/types.h"
#include "server/run/job_memory.h"
#include "server/run/operation.h"
#include "server/run/row_sink.h"

namespace corank {

/// Consecutive rows. Keeps their memory alive.
struct SortedRun {
  const char* keys = nullptr;
  const char* values = nullptr;
  int64_t count = 0;
  bool on_device = true;  // otherwise in pinned host memory
  std::vector<std::shared_ptr<const void>> memory;
};

/// Merges runs of rows of one shape with the streams of a lane, on the lane's thread. Stable: equal keys come from the
/// earlier run first. Nothing is in progress on the streams after each call.
class RunMerger {
 public:
  /// `stats` gets the times. The lane and `stats` outlive the merger.
  RunMerger(Lane& lane, const RowShape& shape, v1::RequestStats* stats) : lane_(lane), shape_(shape), stats_(stats) {}

  /// Merges rows [begin, end) of the result of 1 to kMaxSplitInputs runs into tiles of the sink, and returns how many
  /// rows of each run come before `end`. A single run is copied whatever its rows are. `in_order`: if not null, set to
  /// whether all runs were in order, as far as tiles were made; if they were not, the tiles are invalid.
  absl::StatusOr<std::vector<int64_t>> MergeRows(int64_t begin, int64_t end, const std::vector<SortedRun>& runs,
                                                 RowSink& sink, bool* in_order = nullptr);
  /// The same for all rows.
  absl::Status MergeAll(const std::vector<SortedRun>& runs, RowSink& sink, bool* in_order = nullptr);
  /// Merges neighbours until at most kMaxSplitInputs runs are left, in the same kind of memory. `field`: named by
  /// errors about too little memory.
  absl::Status Reduce(std::vector<SortedRun>& runs, JobMemory& memory, absl::string_view field);

 private:
  // The start of each tile in each run: (tiles + 1) x runs numbers. `fits`: SplitsFit. Runs in shared memory may hold
  // anything and change during the split; even then no tile may exceed its buffer.
  absl::StatusOr<std::vector<int64_t>> Cut(const std::vector<SortedRun>& runs, int64_t begin, int64_t end,
                                           int64_t tile_rows, bool* fits);
  absl::StatusOr<SortedRun> MergeGroup(const std::vector<SortedRun>& group, JobMemory& memory, absl::string_view field);

  Lane& lane_;
  const RowShape shape_;
  v1::RequestStats* const stats_;
};

/// A tile's share of a job's device memory. It leaves room for the runs beside some tiles, their inputs and the
/// workspace.
int64_t TileShare(const JobMemory& memory);

/// The algorithm that merges each tile, whichever one a request asks for.
inline constexpr MergeAlgorithm kTileMergeAlgorithm = MergeAlgorithm::kMergePath;

/// Upper bound of the device memory that a RunMerger takes on the lane's streams. `tile_bytes`: of a tile;
/// `on_device`: whether the runs are in device memory.
int64_t TileMemory(const Engine& engine, const RowShape& shape, int64_t runs, int64_t rows, int64_t tile_bytes,
                   bool on_device = true);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_RUN_MERGE_H_
