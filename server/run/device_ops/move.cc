#include "server/run/device_ops/move.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/run/device_ops/sharded_intervals.h"
#include "server/run/sharded_operation.h"

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
  if (InTurn()) return spec_.source.device_bytes() + InTurnBytes(engine);
  return PhasedOperation::work_bytes() - SpilledBytes() + Workspace(engine, spec_.counts.count, spec_.total);
}

int64_t MoveOperation::PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const {
  MoveArgs args = args_;
  args.interval_count = intervals;
  args.total = rows;
  if (IsSharded(source_)) {
    return PartMoves::WorkspaceBytes(args, static_cast<int64_t>(source_.shards.size()), engine);
  }
  return Workspace(engine, intervals, rows);
}

int64_t MoveOperation::Workspace(const Engine& engine, int64_t intervals, int64_t rows) const {
  MoveArgs args = args_;
  args.interval_count = intervals;
  args.total = rows;
  // The workspace depends on which offsets are present.
  const int64_t any = 0;
  if (spec_.source_offsets) args.source_offsets = &any;
  if (spec_.destination_offsets) args.destination_offsets = &any;
  return engine.WorkspaceBytes(args);
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

Sharing MoveOperation::sharing() const {
  const bool is_gather = spec_.op == Operator::kGatherIntervals;
  if (!(is_gather ? ShardedIntervals::Takes(*this) : ShardedMove::Takes(*this))) return {};
  const int64_t least_bytes = is_gather ? kLeastGatheredBytes : kLeastMovedBytes;
  if (!AnySharded(*this) && work_bytes() < least_bytes * spec_.counts.count) return {};
  return {static_cast<int64_t>(input_count()), Exchange::kReads, is_gather ? 1 : ShardedMove::kCost};
}

std::unique_ptr<Operation> MoveOperation::Sharded(const DeviceGroup& by) const {
  auto whole = std::make_unique<MoveOperation>(spec_);
  if (spec_.op != Operator::kGatherIntervals) return std::make_unique<ShardedMove>(std::move(whole), by.devices);
  return std::make_unique<ShardedIntervals>(std::move(whole), by.devices);
}

int64_t MoveOperation::interval_bytes() const {
  if (IsSharded(source_)) return PartMoves::IntervalBytes(static_cast<int64_t>(source_.shards.size()));
  return 2 * static_cast<int64_t>(sizeof(int64_t));
}

absl::Status MoveOperation::MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                                      OperatorReport* report) const {
  MoveArgs args = args_;
  args.interval_count = piece.intervals;
  args.total = args.destination_count = piece.rows;
  args.destination = d_out[0];
  if (IsSharded(source_)) return GatherFromParts(stream, piece, args, report);
  CORANK_RETURN_IF_ERROR(UploadTo(stream, source_, &args.source));
  CORANK_ASSIGN_OR_RETURN(args.counts, CopyCounts(stream, piece));
  CORANK_ASSIGN_OR_RETURN(args.source_offsets, CopyOffsets(stream, *spec_.source_offsets, piece));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  return stream.Move(args, report);
}

absl::Status MoveOperation::GatherFromParts(EngineStream& stream, const Piece& piece, const MoveArgs& args,
                                            OperatorReport* report) const {
  PartMoves moves(stream, PartsOf(source_));
  CORANK_RETURN_IF_ERROR(moves.Begin(piece.intervals));
  int64_t row = 0;
  for (int64_t i = 0; i < piece.intervals; ++i) {
    const int64_t interval = piece.first_interval + i;
    const int64_t from = NumberAt(*spec_.source_offsets, interval) + (i == 0 ? piece.skipped : 0);
    const int64_t count = i == 0                     ? piece.first_count
                          : i + 1 == piece.intervals ? piece.last_count
                                                     : NumberAt(spec_.counts, interval);
    moves.Add(from, row, count);
    row += count;
  }
  CORANK_RETURN_IF_ERROR(moves.Copy());
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  return moves.Run(args, report);
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
