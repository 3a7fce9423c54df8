#include "server/run/device_ops/move.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {

MoveOperation::MoveOperation(Spec spec) : IntervalOperation(spec.counts), spec_(std::move(spec)) {
  args_.element_bytes = spec_.source.element_bytes;
  args_.interval_count = spec_.counts.count;
  args_.total = spec_.total;
  args_.check_overlap = spec_.check_overlap;
  args_.destination_count = spec_.result_count;
  AddInput(spec_.source, &args_.source);
  AddInput(spec_.counts, &args_.counts);
  AddInput(spec_.source_offsets, &args_.source_offsets);
  AddInput(spec_.destination_offsets, &args_.destination_offsets);
  AddInput(spec_.initial, &d_initial_);
  AddResult({ResultRole::kResult, spec_.source.type, spec_.source.element_bytes, spec_.result_count, spec_.target},
            &args_.destination);
}

int64_t MoveOperation::work_bytes() const {
  // Overlapping intervals can add up to more than source and destination.
  return PhasedOperation::work_bytes() +
         std::max<int64_t>(0, spec_.total * spec_.source.element_bytes - results().front().size_bytes());
}

int64_t MoveOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which offsets are present.
  MoveArgs args = args_;
  const int64_t any = 0;
  if (spec_.source_offsets) args.source_offsets = &any;
  if (spec_.destination_offsets) args.destination_offsets = &any;
  if (!InTurn()) return PhasedOperation::work_bytes() - SpilledBytes() + engine.WorkspaceBytes(args);
  return spec_.source.device_bytes() + PieceBytes(2) + engine.WorkspaceBytes(OfPiece(args));
}

int64_t MoveOperation::SpilledBytes() const {
  const bool result_spills = spec_.target != nullptr && spec_.target->IsSpilled() && !InTurn();
  return spec_.source.host_bytes() + (spec_.initial ? spec_.initial->host_bytes() : 0) +
         (result_spills ? results().front().size_bytes() : 0);
}

bool MoveOperation::InTurn() const {
  return spec_.op == Operator::kGatherIntervals && (spec_.source.on_device || spec_.source.is_pending) &&
         TakesRows(spec_.target);
}

absl::Status MoveOperation::MakePiece(EngineStream& stream, const IntervalCursor::Piece& piece,
                                      absl::Span<void* const> d_out, OperatorReport* report) {
  MoveArgs args = args_;
  args.interval_count = static_cast<int64_t>(piece.counts.size());
  args.total = args.destination_count = piece.rows;
  args.destination = d_out[0];
  source_offsets_.resize(piece.counts.size());
  const Operand offsets = Slice(*spec_.source_offsets, piece.first_interval, args.interval_count);
  std::memcpy(source_offsets_.data(), offsets.bytes, static_cast<size_t>(offsets.size_bytes()));
  source_offsets_.front() += piece.skipped;
  CORANK_RETURN_IF_ERROR(UploadTo(stream, source_, &args.source));
  CORANK_RETURN_IF_ERROR(UploadTo(stream, piece.counts, &args.counts));
  CORANK_RETURN_IF_ERROR(UploadTo(stream, source_offsets_, &args.source_offsets));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  return stream.Move(args, report);
}

absl::Status MoveOperation::Run(EngineStream& stream, OperatorReport* report) {
  const bool covers_all = spec_.op == Operator::kGatherIntervals;
  if (args_.destination != nullptr && !covers_all) CORANK_RETURN_IF_ERROR(FillResult(stream));
  return stream.Move(args_, report);
}

absl::Status MoveOperation::FillResult(EngineStream& stream) const {
  const int64_t bytes = results().front().size_bytes();
  if (!spec_.initial) return stream.Zero(args_.destination, bytes);
  if (spec_.target == nullptr || !spec_.target->IsSpilled()) {
    return spec_.initial->is_spilled ? stream.CopyToDevice(args_.destination, d_initial_, bytes)
                                     : stream.Copy(args_.destination, d_initial_, bytes);
  }
  if (!spec_.initial->is_spilled) return stream.CopyToHost(args_.destination, d_initial_, bytes);
  // No kernel uses the result yet.
  std::memcpy(args_.destination, spec_.initial->bytes, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status MoveOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kOverlapping) return UnexpectedFault(report);
  return FieldError(v1::ERROR_REASON_INTERVALS_OVERLAP, absl::StrCat("destination_offsets[", report.index, "]"),
                    absl::StrCat("interval ", report.index, " overlaps interval ", report.other,
                                 " in the destination; set allow_overlap to permit this"),
                    {{"interval", absl::StrCat(report.index)}, {"other", absl::StrCat(report.other)}});
}

}  // namespace corank
