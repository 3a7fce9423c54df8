// Sorts arrays piece by piece: one is copied in while another is sorted and a third is copied out.
#ifndef CORANK_SERVER_RUN_EXTERNAL_SORT_H_
#define CORANK_SERVER_RUN_EXTERNAL_SORT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/run/device_ops/sort.h"
#include "server/run/external_work.h"
#include "server/run/row_sink.h"

namespace corank {

/// Sorts pieces of the array to runs, in device memory or out of core, and merges them to its result. An array with
/// segments is sorted tile by tile (SegmentSorter).
class ExternalSort final : public ExternalOperation {
 public:
  /// Null unless the sort can run this way: of whole arrays that come in chunks, with results for streams or a few rows
  /// for the response; or of arrays in shared memory, small ones also inline, with results in host memory.
  static std::unique_ptr<const ExternalWork> For(const SortOperation::Spec& sort);
  /// Upper bound of its pinned memory. `parts`: number of calls that send chunks concurrently; 0: no chunks.
  static int64_t HostBytes(const SortOperation::Spec& sort, int64_t parts, int64_t piece_bytes,
                           const JobMemory& memory);

  ExternalSort(SortOperation::Spec sort, ExternalMeans means)
      : ExternalOperation(SortOperation(sort), std::move(means)), spec_(std::move(sort)) {}

  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;

 private:
  absl::Status Work(Lane& lane, Outcome& outcome) override;
  // The results of a sort of that many keys, whose rows `write` writes into the sink.
  absl::Status WriteResults(int64_t count, Lane& lane, Outcome& outcome,
                            absl::FunctionRef<absl::Status(int64_t rows, RowSink& sink)> write) const;

  const SortOperation::Spec spec_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_EXTERNAL_SORT_H_
