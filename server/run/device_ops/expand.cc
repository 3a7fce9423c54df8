#include "server/run/device_ops/expand.h"

#include <utility>

#include "server/base/status_macros.h"
#include "server/run/device_ops/sharded_intervals.h"

namespace corank {

ExpandOperation::ExpandOperation(Spec spec) : IntervalOperation(spec.counts), spec_(std::move(spec)) {
  args_.element_bytes = spec_.values.element_bytes;
  args_.interval_count = spec_.counts.count;
  args_.total = spec_.total;
  AddInput(spec_.values, &args_.values);
  AddInput(spec_.counts, &args_.counts);
  AddResult({ResultRole::kValues, spec_.values.type, spec_.values.element_bytes, spec_.total, spec_.target},
            &args_.out);
}

int64_t ExpandOperation::device_bytes(const Engine& engine) const {
  if (!InTurn()) return work_bytes() - spec_.values.host_bytes() + engine.WorkspaceBytes(args_);
  return spec_.values.device_bytes() + InTurnBytes(engine);
}

std::unique_ptr<Operation> ExpandOperation::Sharded(const DeviceGroup& by) const {
  return std::make_unique<ShardedIntervals>(std::make_unique<ExpandOperation>(spec_), by.devices);
}

int64_t ExpandOperation::interval_bytes() const {
  return static_cast<int64_t>(sizeof(int64_t)) + (IsCopied(spec_.values) ? args_.element_bytes : 0);
}

int64_t ExpandOperation::PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const {
  ExpandArgs args = args_;
  args.interval_count = intervals;
  args.total = rows;
  return engine.WorkspaceBytes(args);
}

absl::Status ExpandOperation::MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                                        OperatorReport* report) const {
  ExpandArgs args = args_;
  args.interval_count = piece.intervals;
  args.total = piece.rows;
  args.out = d_out[0];
  CORANK_ASSIGN_OR_RETURN(args.values, TakeSlice(stream, spec_.values, piece.first_interval, piece.intervals));
  CORANK_ASSIGN_OR_RETURN(args.counts, CopyCounts(stream, piece));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  return stream.Expand(args, report);
}

}  // namespace corank
