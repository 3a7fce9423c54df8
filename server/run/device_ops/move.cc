#include "server/run/device_ops/move.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"
#include "server/run/device_ops/sharded_intervals.h"

namespace corank {
namespace {

// A sharded gather takes less time than one device from about this mean length of its intervals on, if its source is in
// host memory: the host cuts one in about 5 ns, in which a bus brings 265 bytes.
constexpr int64_t kLeastMeanBytes = 512;

// An interval that lies in one part of the source takes this many numbers: where it begins there and in the result, and
// its count.
constexpr int64_t kNumbers = 3;

}  // namespace

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
  return PhasedOperation::work_bytes() - SpilledBytes() + PieceWorkspace(engine, spec_.counts.count, spec_.total);
}

int64_t MoveOperation::PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const {
  MoveArgs args = args_;
  args.interval_count = intervals;
  args.total = rows;
  if (IsSharded(source_)) {
    const int64_t any = 0;
    args.source_offsets = args.destination_offsets = &any;
    args.check_overlap = false;
    return static_cast<int64_t>(source_.shards.size()) * engine.WorkspaceBytes(args);
  }
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
  if (spec_.op != Operator::kGatherIntervals) return {};
  const bool is_long = spec_.total * args_.element_bytes >= kLeastMeanBytes * spec_.counts.count;
  if (!is_long && !IsSharded(spec_.source) && !IsSharded(spec_.target)) return {};
  return IntervalOperation::sharing();
}

std::unique_ptr<Operation> MoveOperation::Sharded(uint64_t devices) const {
  return std::make_unique<ShardedIntervals>(std::make_unique<MoveOperation>(spec_), devices);
}

int64_t MoveOperation::interval_bytes() const {
  constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(int64_t));
  if (!IsSharded(source_)) return 2 * kNumberBytes;
  return kNumbers * static_cast<int64_t>(source_.shards.size()) * kNumberBytes;
}

absl::Status MoveOperation::MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                                      OperatorReport* report) const {
  MoveArgs args = args_;
  args.interval_count = piece.intervals;
  args.total = args.destination_count = piece.rows;
  args.destination = d_out[0];
  std::vector<MoveArgs> moves;
  if (IsSharded(source_)) {
    CORANK_RETURN_IF_ERROR(CutByParts(stream, piece, args, moves));
  } else {
    CORANK_RETURN_IF_ERROR(UploadTo(stream, source_, &args.source));
    CORANK_ASSIGN_OR_RETURN(args.counts, CopyCounts(stream, piece));
    CORANK_ASSIGN_OR_RETURN(args.source_offsets, CopyOffsets(stream, *spec_.source_offsets, piece));
    moves.push_back(args);
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  for (const MoveArgs& move : moves) CORANK_RETURN_IF_ERROR(stream.Move(move, report));
  return absl::OkStatus();
}

absl::Status MoveOperation::CutByParts(EngineStream& stream, const Piece& piece, const MoveArgs& whole,
                                       std::vector<MoveArgs>& moves) const {
  const auto parts = static_cast<int64_t>(source_.shards.size());
  std::vector<int64_t> ends;
  for (int64_t part = 0; part < parts; ++part) ends.push_back(PartBegin(source_.count, parts, part + 1));
  // Each interval has one place at most in each part.
  const int64_t part_numbers = kNumbers * piece.intervals;
  CORANK_ASSIGN_OR_RETURN(void* const memory, stream.AllocateHost(piece.intervals * interval_host_bytes()));
  auto* const h_numbers = static_cast<int64_t*>(memory);
  std::vector<MoveArgs> of_parts(static_cast<size_t>(parts), whole);
  for (MoveArgs& move : of_parts) move.interval_count = move.total = 0;
  int64_t row = 0;
  for (int64_t i = 0; i < piece.intervals; ++i) {
    int64_t from = NumberAt(*spec_.source_offsets, piece.first_interval + i) + (i == 0 ? piece.skipped : 0);
    int64_t left = i == 0                     ? piece.first_count
                   : i + 1 == piece.intervals ? piece.last_count
                                              : NumberAt(spec_.counts, piece.first_interval + i);
    for (auto part = std::upper_bound(ends.begin(), ends.end(), from) - ends.begin(); left > 0; ++part) {
      MoveArgs& move = of_parts[static_cast<size_t>(part)];
      const int64_t count = std::min(left, ends[static_cast<size_t>(part)] - from);
      int64_t* const numbers = h_numbers + part * part_numbers + move.interval_count;
      numbers[0] = from - PartBegin(source_.count, parts, part);
      numbers[piece.intervals] = row;
      numbers[2 * piece.intervals] = count;
      ++move.interval_count;
      move.total += count;
      row += count;
      from += count;
      left -= count;
    }
  }
  for (int64_t part = 0; part < parts; ++part) {
    MoveArgs& move = of_parts[static_cast<size_t>(part)];
    if (move.total == 0) continue;
    const auto take = [&](int64_t number) -> absl::StatusOr<const int64_t*> {
      const int64_t bytes = move.interval_count * static_cast<int64_t>(sizeof(int64_t));
      CORANK_ASSIGN_OR_RETURN(void* const d_numbers, stream.AllocateDevice(bytes));
      const int64_t* const from = h_numbers + part * part_numbers + number * piece.intervals;
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(d_numbers, from, bytes));
      return static_cast<const int64_t*>(d_numbers);
    };
    move.source = source_.shards[static_cast<size_t>(part)];
    move.check_overlap = false;
    CORANK_ASSIGN_OR_RETURN(move.source_offsets, take(0));
    CORANK_ASSIGN_OR_RETURN(move.destination_offsets, take(1));
    CORANK_ASSIGN_OR_RETURN(move.counts, take(2));
    moves.push_back(move);
  }
  return absl::OkStatus();
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
