// MoveIntervals, GatherIntervals and ScatterIntervals.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/engine/part_moves.h"
#include "server/model/operand.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/row_sink.h"
#include "server/run/rows_in_turn.h"

namespace corank {

/// Move, gather (no destination offsets) and scatter (no source offsets). A gather with its source on a device makes
/// rows in turn: any piece may read any part of the source. Several devices share a gather with a part of the source in
/// the memory of each.
class MoveOperation final : public IntervalOperation {
 public:
  struct Spec {
    Operator op = Operator::kMoveIntervals;
    Operand source;
    std::optional<Operand> source_offsets;
    std::optional<Operand> destination_offsets;
    Operand counts;
    int64_t total = 0;               // the sum of the counts
    int64_t result_count = 0;        // elements of the destination
    std::optional<Operand> initial;  // the destination's contents before; unset: zero bytes. A gather ignores it
    bool check_overlap = true;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  /// Several devices take less time than one from this many bytes of arrays and results for each interval on. For two
  /// to eight devices, the host cuts an interval of a gather in 9 to 17 ns, and one of another move in 16 to 27, in
  /// which a bus brings 0.9 to 1.4 KB. A gather returns rows meanwhile. These times are of one thread for all devices;
  /// now each device has a thread, which reads all intervals of a move.
  static constexpr int64_t kLeastGatheredBytes = 2048, kLeastMovedBytes = 4096;

  explicit MoveOperation(Spec spec);

  const Spec& spec() const { return spec_; }

  Operator op() const override { return spec_.op; }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  Sharing sharing() const override;
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  std::vector<Operand*> whole_inputs() override { return {&source_}; }
  absl::Status MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                         OperatorReport* report) const override;
  int64_t interval_bytes() const override;
  int64_t interval_host_bytes() const override { return IsSharded(source_) ? interval_bytes() : 0; }

 private:
  bool InTurn() const override;
  int64_t PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const override;
  int64_t Workspace(const Engine& engine, int64_t intervals, int64_t rows) const;
  absl::Status GatherFromParts(EngineStream& stream, const Piece& piece, const MoveArgs& args,
                               OperatorReport* report) const;
  // Bytes of inputs and result in host memory.
  int64_t SpilledBytes() const;
  // Fills the result with the destination's previous contents.
  absl::Status FillResult(EngineStream& stream) const;

  const Spec spec_;
  Operand source_{spec_.source};
  MoveArgs args_;
  const void* d_initial_ = nullptr;
};

/// MoveIntervals and ScatterIntervals on several devices at a time. Each device takes an equal part of the source,
/// makes an equal part of the destination, and returns it over its own bus. A thread for each device reads all
/// intervals, some at a time, and cuts its part's intervals where parts meet (kernels/engine/part_moves.h). One device
/// checks before that no destinations overlap.
class ShardedMove final : public Operation {
 public:
  /// Of Sharing::cost. The copies in, the moves and the copies out follow each other.
  static constexpr int64_t kCost = 2;

  /// Whether several devices can do the work: its arrays and results are sharded or in host memory.
  static bool Takes(const MoveOperation& whole);

  /// `whole`: the same work on one device. `tile_bytes`: most bytes of the intervals that are cut at a time.
  ShardedMove(std::unique_ptr<MoveOperation> whole, uint64_t devices, int64_t tile_bytes = RowsInTurn::kPieceBytes);

  Operator op() const override { return whole_->op(); }
  int64_t work_bytes() const override { return whole_->work_bytes(); }
  bool is_repeatable() const override { return !whole_->OverwritesInputs(); }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  // Streams of each device by their numbers: for its parts of arrays, and for intervals in turn.
  static constexpr int kPartStream = 0, kFirstTileStream = 1, kTileStreams = 3;

  // A device's parts.
  struct Part {
    v1::RequestStats stats = {};
    OperatorReport moved = {};
    EngineStreamRing inputs, turns;  // of streams: for the parts of arrays; for intervals
    int64_t begin = 0, count = 0;    // of the destination
    char* d_destination = nullptr;

    Part(Lane& lane, int device);
  };

  const MoveOperation::Spec& spec() const { return whole_->spec(); }
  int64_t devices() const { return static_cast<int64_t>(devices_.size()); }
  bool checks_overlap() const { return spec().check_overlap && spec().destination_offsets.has_value(); }
  int64_t TileIntervals() const;
  MoveArgs CheckArgs() const;

  absl::Status TakeParts(std::vector<std::unique_ptr<Part>>& parts, Operand& source);
  absl::Status Check(EngineStream& stream, OperatorReport* report) const;
  // Cuts the intervals, a tile at a time, and moves what goes from the parts of the source to a part of the
  // destination. A thread for each part; it stops once `has_failed`.
  absl::Status MoveInto(Part& part, Lane& lane, const Operand& source, const std::atomic<bool>& has_failed) const;
  absl::Status Return(const RowResult& result, Part& part) const;

  const std::unique_ptr<MoveOperation> whole_;
  const std::vector<int> devices_;
  const int64_t tile_bytes_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_
