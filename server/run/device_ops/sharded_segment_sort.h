// Sort of segments on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_

#include <cstdint>
#include <vector>

#include "server/run/device_ops/sort.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/row_sink.h"

namespace corank {

/// Cuts the array between segments, into ranges of about equal length, several for each device. A device copies in a
/// range over its own bus, or over links from the devices that have it, while it sorts another and returns a third to
/// its place. Nothing is merged. Ranges of long segments differ, and none is shorter than its longest segment.
class ShardedSegmentSort final : public Operation {
 public:
  /// Whether several devices can do the work: its arrays and results are sharded or in host memory, and the results lie
  /// apart from the arrays. If none is sharded, that also pays: no segment has most of the rows.
  static bool Takes(const SortOperation& whole);

  ShardedSegmentSort(SortOperation::Spec sort, uint64_t devices);

  Operator op() const override { return Operator::kSort; }
  int64_t work_bytes() const override { return whole_.work_bytes(); }
  bool is_repeatable() const override { return true; }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  static constexpr int64_t kRangesOfDevice = 4, kStreams = 3;

  // Segments [first, first_of_next), whose results begin at `result` of all.
  struct Range {
    int64_t first = 0, end = 0, result = 0;
  };
  class Part;
  // Where the elements of a result go.
  struct Place {
    char* host = nullptr;
    std::vector<void*> shards;  // of a sharded result
  };

  int64_t devices() const { return static_cast<int64_t>(devices_.size()); }
  const Range& RangeOf(int64_t device, int64_t turn) const {
    return ranges_[static_cast<size_t>(device * kRangesOfDevice + turn)];
  }
  int64_t RowsOf(const Range& range) const;
  int64_t RangeBytes(const Range& range, const Engine& engine) const;
  // The sum over a device's streams of the most that bytes_of(range) is on each. Ranges without rows take no turn.
  template <typename BytesOf>
  int64_t SumOfStreams(int64_t device, const BytesOf& bytes_of) const;
  absl::Status SortRange(Part& part, const Range& range, const std::vector<Place>& places) const;
  absl::Status Return(EngineStream& stream, const PendingResult& result, const Place& place, const void* d_from,
                      int64_t first, int64_t count) const;

  const SortOperation::Spec spec_;
  const SortOperation whole_;
  const RowShape shape_;
  const std::vector<int> devices_;
  std::vector<Range> ranges_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_
