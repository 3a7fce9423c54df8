// Sorts of segments that several devices share.
#ifndef CORANK_SERVER_RUN_SHARDED_SEGMENTS_H_
#define CORANK_SERVER_RUN_SHARDED_SEGMENTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/operation.h"
#include "server/run/row_sink.h"
#include "server/run/segment_sort.h"

namespace corank {

/// Cuts the rows between segments, into ranges of about equal length, several for each device. A device copies in a
/// range over its own bus, or over links from the devices that have it, while it sorts another and returns a third to
/// its place. Nothing is merged. Ranges of long segments differ, and none is shorter than its longest segment.
///
/// Ranges of tables with bitmaps begin with a whole byte of 8 rows, so up to 7 rows of the segment before come first.
/// They are a segment of their own, whose results are dropped. The host puts the bits of results together.
class ShardedSegments : public Operation {
 public:
  /// Whether several devices can do the work: its arrays and results are sharded or in host memory, and the results lie
  /// apart from the arrays. If none is sharded, that also pays: no segment has most of the rows.
  static bool Takes(const KernelOperation& whole, const std::optional<Operand>& segment_offsets, int64_t rows);

  Operator op() const final { return whole_->op(); }
  int64_t work_bytes() const final { return whole_->work_bytes(); }
  bool is_repeatable() const final { return true; }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const final;
  int64_t host_bytes() const final;
  absl::Status Execute(Lane& lane, Outcome& outcome) final;

 protected:
  struct Options {
    Operand segment_offsets;
    int64_t rows = 0;        // of all segments
    int64_t limit = -1;      // of each; -1: all
    int64_t whole_rows = 1;  // ranges begin with a multiple
  };
  /// `whole`: the same work on one device.
  ShardedSegments(std::unique_ptr<const KernelOperation> whole, Options options, uint64_t devices);

  const KernelOperation& whole() const { return *whole_; }
  /// Upper bound of the device memory that SortTile takes.
  virtual int64_t TileBytes(int64_t rows, int64_t segments, const Engine& engine) const = 0;
  /// Enqueues copies of the tile's rows and their sort, and ends these phases. Returns where the rows of each result
  /// are. A thread for each device calls it.
  virtual absl::StatusOr<std::vector<const void*>> SortTile(EngineStream& stream, const SegmentTile& tile,
                                                            OperatorReport* report) const = 0;

 private:
  static constexpr int64_t kRangesOfDevice = 4, kStreams = 3;

  // Segments [first, first_of_next), whose results begin at `result` of all.
  struct Range {
    int64_t first = 0, end = 0, result = 0;
  };
  class Part;
  // Where the elements of a result go. The host puts bits together at `host`, also those for `shards`.
  struct Place {
    char* host = nullptr;
    std::vector<void*> shards;  // of a sharded result
  };
  // Bits of a range, on their way to the host.
  struct Bits {
    uint8_t* to = nullptr;
    const uint8_t* h_bits = nullptr;
  };

  int64_t devices() const { return static_cast<int64_t>(devices_.size()); }
  const Range& RangeOf(int64_t device, int64_t turn) const {
    return ranges_[static_cast<size_t>(device * kRangesOfDevice + turn)];
  }
  bool HasRows(const Range& range) const;
  SegmentTile TileOf(const Range& range) const;
  int64_t BitsBytes(const PendingResult& result, int64_t rows) const;
  // The sum over a device's streams of the most that bytes_of(rows, segments) is on each. Ranges without rows take no
  // turn.
  template <typename BytesOf>
  int64_t SumOfStreams(int64_t device, const BytesOf& bytes_of) const;
  absl::StatusOr<std::vector<Place>> PlacesOf(const std::vector<RowResult>& results, std::deque<Part>& parts) const;
  absl::Status SortRange(Part& part, const Range& range, const std::vector<Place>& places);
  absl::Status Return(EngineStream& stream, const PendingResult& result, const Place& place, const char* d_from,
                      int64_t first, int64_t count) const;
  absl::Status ReturnBits(const std::vector<Place>& places, std::deque<Part>& parts) const;

  const std::unique_ptr<const KernelOperation> whole_;
  const Options options_;
  const std::vector<int> devices_;
  std::vector<Range> ranges_;
  absl::Mutex bits_mutex_;  // ranges of several devices share bytes
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARDED_SEGMENTS_H_
