// Operators whose rows come from intervals, on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_INTERVALS_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_INTERVALS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/run/rows_in_turn.h"

namespace corank {

/// Each device makes an equal part of the rows, in tiles: the intervals of one come while another is made and a third
/// leaves over the device's own bus. A thread for each device adds up the counts to find where its part and tiles
/// begin, so no device waits for another. If any row may read any element of an input, each device first takes an equal
/// part of that input, and all devices read all parts.
class ShardedIntervals final : public Operation {
 public:
  /// Whether several devices can do the work: its arrays and results are sharded or in host memory. If none is sharded,
  /// the results must lie apart from the arrays.
  static bool Takes(const IntervalOperation& whole);

  /// `whole`: the same work on one device. `tile_bytes`: most bytes of a tile's rows, and of its intervals.
  ShardedIntervals(std::unique_ptr<IntervalOperation> whole, uint64_t devices,
                   int64_t tile_bytes = RowsInTurn::kPieceBytes);

  Operator op() const override { return whole_->op(); }
  int64_t work_bytes() const override { return whole_->work_bytes(); }
  bool is_repeatable() const override { return !whole_->OverwritesInputs(); }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  // Streams of each device by their numbers: for its part of inputs, and for tiles in turn.
  static constexpr int kPartStream = 0, kFirstTileStream = 1, kTileStreams = 3;

  class Part;
  // An input that is copied in, in parts.
  struct Divided {
    Operand* input;
    Operand whole;
  };

  absl::Status Divide(Lane& lane, v1::RequestStats* stats);
  int64_t rows() const { return whole_->results().front().count; }
  // The most of a tile.
  int64_t TileRows() const;
  int64_t TileIntervals() const;

  const std::unique_ptr<IntervalOperation> whole_;
  const std::vector<int> devices_;
  const int64_t tile_bytes_;
  std::vector<Divided> divided_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_INTERVALS_H_
