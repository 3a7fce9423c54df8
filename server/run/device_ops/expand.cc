#include "server/run/device_ops/expand.h"

#include <utility>

#include "server/base/status_macros.h"

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
  return spec_.values.device_bytes() + PieceBytes(1) + engine.WorkspaceBytes(OfPiece(args_));
}

absl::Status ExpandOperation::MakePiece(EngineStream& stream, const IntervalCursor::Piece& piece,
                                        absl::Span<void* const> d_out, OperatorReport* report) {
  ExpandArgs args = args_;
  args.interval_count = static_cast<int64_t>(piece.counts.size());
  args.total = piece.rows;
  args.out = d_out[0];
  CORANK_RETURN_IF_ERROR(
      UploadTo(stream, Slice(spec_.values, piece.first_interval, args.interval_count), &args.values));
  CORANK_RETURN_IF_ERROR(UploadTo(stream, piece.counts, &args.counts));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  return stream.Expand(args, report);
}

}  // namespace corank
