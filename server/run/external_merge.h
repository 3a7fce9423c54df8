// Merges arrays tile by tile: one is copied in while another is merged and a third is copied out.
#ifndef CORANK_SERVER_RUN_EXTERNAL_MERGE_H_
#define CORANK_SERVER_RUN_EXTERNAL_MERGE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "server/run/device_ops/merge.h"
#include "server/run/external_work.h"
#include "server/run/row_sink.h"
#include "server/run/row_source.h"

namespace corank {

/// Whether the results are for host memory, and for none that an input in shared memory takes: then rows can be written
/// while others are still unread.
bool WritesApart(const MergeOperation& merge);

/// Arrays in host memory are merged from where they are. Arrays in chunks are collected, in device memory or out of
/// core, and their rows leave as early as possible.
class ExternalMerge final : public ExternalOperation {
 public:
  /// Null unless the merge can run this way: of arrays of known lengths that come in chunks, with results for streams;
  /// or of arrays in shared memory, small ones also inline, with results elsewhere in host memory.
  static std::unique_ptr<const ExternalWork> For(const MergeOperation& whole);
  /// Upper bound of its pinned memory.
  static int64_t HostBytes(const MergeOperation::Spec& merge, const JobMemory& memory);

  ExternalMerge(MergeOperation::Spec merge, ExternalMeans means)
      : ExternalOperation(MergeOperation(merge), std::move(means)), spec_(std::move(merge)) {}

  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override { return HostBytes(spec_, *means_.memory); }

 private:
  absl::Status Work(Lane& lane, Outcome& outcome) override;
  absl::Status MergeChunks(RowSource& source, RowSink& sink, Lane& lane, Outcome& outcome);
  // `in_order`: whether all inputs were in order. If not, the rows are invalid.
  absl::Status MergeComplete(const RowSource& source, RowSink& sink, Lane& lane, Outcome& outcome, bool* in_order);

  const MergeOperation::Spec spec_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_EXTERNAL_MERGE_H_
