#include "server/run/device_ops/load_balance.h"

#include <utility>

#include "server/base/status_macros.h"
#include "server/run/device_ops/sharded_intervals.h"

namespace corank {

LoadBalanceOperation::LoadBalanceOperation(Spec spec) : IntervalOperation(spec.counts), spec_(std::move(spec)) {
  args_.object_count = spec_.counts.count;
  args_.total = spec_.total;
  AddInput(spec_.counts, &args_.counts);
  const int index_bytes = args_.IndexWidth();
  AddResult({ResultRole::kObjects, IndexType(index_bytes), index_bytes, spec_.total, spec_.objects_target},
            &args_.objects_out);
  AddResult({ResultRole::kRanks, IndexType(index_bytes), index_bytes, spec_.total, spec_.ranks_target},
            &args_.ranks_out);
}

int64_t LoadBalanceOperation::device_bytes(const Engine& engine) const {
  if (!InTurn()) return work_bytes() + engine.WorkspaceBytes(args_);
  return InTurnBytes(engine);
}

std::unique_ptr<Operation> LoadBalanceOperation::Sharded(const DeviceGroup& by) const {
  return std::make_unique<ShardedIntervals>(std::make_unique<LoadBalanceOperation>(spec_), by.devices);
}

int64_t LoadBalanceOperation::interval_bytes() const {
  return static_cast<int64_t>(sizeof(int64_t)) + args_.IndexWidth();
}

int64_t LoadBalanceOperation::PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const {
  LoadBalanceArgs piece = args_;
  piece.object_count = intervals;
  piece.total = rows;
  return engine.WorkspaceBytes(piece) + engine.WorkspaceBytes(Naming(intervals, rows));
}

ExpandArgs LoadBalanceOperation::Naming(int64_t count, int64_t rows) const {
  ExpandArgs naming;
  naming.element_bytes = args_.IndexWidth();
  naming.interval_count = count;
  naming.total = rows;
  return naming;
}

absl::Status LoadBalanceOperation::MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                                             OperatorReport* report) const {
  const int width = args_.IndexWidth();
  // Ranks in the first object continue from the previous piece. The engine only counts ranks of whole objects.
  const bool goes_on = piece.skipped > 0;
  const int64_t going_on = goes_on ? piece.first_count : 0, count = piece.intervals;
  CORANK_ASSIGN_OR_RETURN(const int64_t* const d_counts, CopyCounts(stream, piece));
  CORANK_ASSIGN_OR_RETURN(void* const d_numbers, stream.AllocateDevice(count * width));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Iota(d_numbers, width, piece.first_interval, count));
  if (goes_on) CORANK_RETURN_IF_ERROR(stream.Iota(d_out[1], width, piece.skipped, going_on));
  LoadBalanceArgs whole;
  whole.counts = d_counts + (goes_on ? 1 : 0);
  whole.object_count = count - (goes_on ? 1 : 0);
  whole.total = piece.rows - going_on;
  whole.objects_out = static_cast<char*>(d_out[0]) + going_on * width;
  whole.ranks_out = static_cast<char*>(d_out[1]) + going_on * width;
  whole.least_index_bytes = width;
  CORANK_RETURN_IF_ERROR(stream.LoadBalance(whole, report));
  // Replaces the object numbers, which the engine counted from the piece's first object.
  ExpandArgs naming = Naming(count, piece.rows);
  naming.values = d_numbers;
  naming.counts = d_counts;
  naming.out = d_out[0];
  return stream.Expand(naming, report);
}

}  // namespace corank
