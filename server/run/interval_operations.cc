#include "server/run/interval_operations.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

absl::StatusOr<const int64_t*> UploadInt64(EngineStream& stream, const Operand& operand) {
  CORANK_ASSIGN_OR_RETURN(const void* uploaded, Upload(stream, operand));
  return static_cast<const int64_t*>(uploaded);
}

absl::StatusOr<const int64_t*> UploadInt64(EngineStream& stream, const std::vector<int64_t>& values) {
  if (values.empty()) return nullptr;
  CORANK_ASSIGN_OR_RETURN(const void* uploaded,
                          stream.Upload(values.data(), static_cast<int64_t>(values.size() * sizeof(int64_t))));
  return static_cast<const int64_t*>(uploaded);
}

absl::Status NoIntervals() { return absl::InternalError("the intervals have fewer elements than their counts say"); }

// The kernel arguments of a piece, as far as they determine the workspace.
template <typename Args>
Args OfPiece(Args args) {
  args.interval_count = std::min(args.interval_count, RowsInTurn::kPieceIntervals);
  args.total = std::min(args.total, RowsInTurn::kPieceBytes / args.element_bytes + 1);
  return args;
}

// Device memory of a piece without its inputs and its workspace. `arrays`: number of interval arrays beside the rows.
int64_t PieceBytes(const PendingResult& result, const Operand& counts, int arrays) {
  return std::min(result.size_bytes(), RowsInTurn::kPieceBytes + result.element_bytes) +
         arrays * std::min(counts.size_bytes(), RowsInTurn::kPieceBytes);
}

}  // namespace

ExpandOperation::ExpandOperation(Spec spec) : spec_(std::move(spec)) {
  args_.element_bytes = spec_.values.element_bytes;
  args_.interval_count = spec_.counts.count;
  args_.total = spec_.total;
  result_ =
      PendingResult{ResultRole::kValues, spec_.values.type, spec_.values.element_bytes, spec_.total, spec_.target};
}

int64_t ExpandOperation::work_bytes() const {
  return spec_.values.size_bytes() + spec_.counts.size_bytes() + result_.size_bytes();
}

int64_t ExpandOperation::device_bytes(const Engine& engine) const {
  if (!InTurn()) return work_bytes() - spec_.values.host_bytes() + engine.WorkspaceBytes(args_);
  return spec_.values.device_bytes() + PieceBytes(result_, spec_.counts, 1) + engine.WorkspaceBytes(OfPiece(args_));
}

bool ExpandOperation::InTurn() const { return TakesRows(spec_.target); }

absl::StatusOr<int64_t> ExpandOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                                  absl::Span<void* const> d_out, OperatorReport* report) {
  piece_ = cursor_.Next(most_rows, most_intervals);
  if (piece_.counts.empty()) return NoIntervals();
  ExpandArgs args = args_;
  args.interval_count = static_cast<int64_t>(piece_.counts.size());
  args.total = piece_.rows;
  args.out = d_out[0];
  CORANK_ASSIGN_OR_RETURN(args.values, Upload(stream, Slice(spec_.values, piece_.first_interval, args.interval_count)));
  CORANK_ASSIGN_OR_RETURN(args.counts, UploadInt64(stream, piece_.counts));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Expand(args, report));
  return piece_.rows;
}

absl::Status ExpandOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.values, Upload(stream, spec_.values));
  CORANK_ASSIGN_OR_RETURN(args_.counts, UploadInt64(stream, spec_.counts));
  CORANK_RETURN_IF_ERROR(result_.Allocate(stream));
  args_.out = result_.buffer.device;
  return absl::OkStatus();
}

absl::Status ExpandOperation::Run(EngineStream& stream, OperatorReport* report) { return stream.Expand(args_, report); }
absl::Status ExpandOperation::CopyOut(EngineStream& stream) { return result_.Download(stream); }
void ExpandOperation::Collect(const OperatorReport&, Outcome& outcome) const {
  outcome.results.push_back(result_.Collect());
}
absl::Status ExpandOperation::FaultStatus(const OperatorReport& report) const { return UnexpectedFault(report); }

MoveOperation::MoveOperation(Spec spec) : spec_(std::move(spec)) {
  args_.element_bytes = spec_.source.element_bytes;
  args_.interval_count = spec_.counts.count;
  args_.total = spec_.total;
  args_.check_overlap = spec_.check_overlap;
  args_.destination_count = spec_.result_count;
  result_ = PendingResult{ResultRole::kResult, spec_.source.type, spec_.source.element_bytes, spec_.result_count,
                          spec_.target};
}

int64_t MoveOperation::work_bytes() const {
  // Overlapping intervals can add up to more than source and destination.
  return ArrayBytes() + std::max<int64_t>(0, spec_.total * spec_.source.element_bytes - result_.size_bytes());
}

int64_t MoveOperation::ArrayBytes() const {
  int64_t bytes = spec_.source.size_bytes() + spec_.counts.size_bytes() + result_.size_bytes();
  for (const auto* input : {&spec_.source_offsets, &spec_.destination_offsets, &spec_.initial}) {
    bytes += *input ? (*input)->size_bytes() : 0;
  }
  return bytes;
}

int64_t MoveOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which offsets are present.
  MoveArgs args = args_;
  const int64_t any = 0;
  if (spec_.source_offsets) args.source_offsets = &any;
  if (spec_.destination_offsets) args.destination_offsets = &any;
  if (!InTurn()) return ArrayBytes() - SpilledBytes() + engine.WorkspaceBytes(args);
  return spec_.source.device_bytes() + PieceBytes(result_, spec_.counts, 2) + engine.WorkspaceBytes(OfPiece(args));
}

int64_t MoveOperation::SpilledBytes() const {
  const int64_t result = spec_.target != nullptr && spec_.target->IsSpilled() && !InTurn() ? result_.size_bytes() : 0;
  const int64_t initial = spec_.initial ? spec_.initial->host_bytes() : 0;
  return spec_.source.host_bytes() + initial + result;
}

bool MoveOperation::InTurn() const {
  return spec_.op == Operator::kGatherIntervals && (spec_.source.on_device || spec_.source.is_pending) &&
         TakesRows(spec_.target);
}

absl::StatusOr<int64_t> MoveOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                                absl::Span<void* const> d_out, OperatorReport* report) {
  piece_ = cursor_.Next(most_rows, most_intervals);
  if (piece_.counts.empty()) return NoIntervals();
  MoveArgs args = args_;
  args.interval_count = static_cast<int64_t>(piece_.counts.size());
  args.total = args.destination_count = piece_.rows;
  args.destination = d_out[0];
  source_offsets_.resize(piece_.counts.size());
  const Operand offsets = Slice(*spec_.source_offsets, piece_.first_interval, args.interval_count);
  std::memcpy(source_offsets_.data(), offsets.bytes, static_cast<size_t>(offsets.size_bytes()));
  source_offsets_.front() += piece_.skipped;
  CORANK_ASSIGN_OR_RETURN(args.source, Upload(stream, source_));
  CORANK_ASSIGN_OR_RETURN(args.counts, UploadInt64(stream, piece_.counts));
  CORANK_ASSIGN_OR_RETURN(args.source_offsets, UploadInt64(stream, source_offsets_));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Move(args, report));
  return piece_.rows;
}

absl::Status MoveOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.source, Upload(stream, spec_.source));
  CORANK_ASSIGN_OR_RETURN(args_.counts, UploadInt64(stream, spec_.counts));
  if (spec_.source_offsets) {
    CORANK_ASSIGN_OR_RETURN(args_.source_offsets, UploadInt64(stream, *spec_.source_offsets));
  }
  if (spec_.destination_offsets) {
    CORANK_ASSIGN_OR_RETURN(args_.destination_offsets, UploadInt64(stream, *spec_.destination_offsets));
  }
  if (spec_.initial) {
    CORANK_ASSIGN_OR_RETURN(d_initial_, Upload(stream, *spec_.initial));
  }
  CORANK_RETURN_IF_ERROR(result_.Allocate(stream));
  args_.destination = result_.buffer.device;
  return absl::OkStatus();
}

absl::Status MoveOperation::Run(EngineStream& stream, OperatorReport* report) {
  const bool covers_all = spec_.op == Operator::kGatherIntervals;
  if (result_.size_bytes() > 0 && !covers_all) CORANK_RETURN_IF_ERROR(FillResult(stream));
  return stream.Move(args_, report);
}

absl::Status MoveOperation::FillResult(EngineStream& stream) const {
  const int64_t bytes = result_.size_bytes();
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

absl::Status MoveOperation::CopyOut(EngineStream& stream) { return result_.Download(stream); }
void MoveOperation::Collect(const OperatorReport&, Outcome& outcome) const {
  outcome.results.push_back(result_.Collect());
}

absl::Status MoveOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kOverlapping) return UnexpectedFault(report);
  return FieldError(v1::ERROR_REASON_INTERVALS_OVERLAP, absl::StrCat("destination_offsets[", report.index, "]"),
                    absl::StrCat("interval ", report.index, " overlaps interval ", report.other,
                                 " in the destination; set allow_overlap to permit this"),
                    {{"interval", absl::StrCat(report.index)}, {"other", absl::StrCat(report.other)}});
}

LoadBalanceOperation::LoadBalanceOperation(Spec spec) : spec_(std::move(spec)) {
  args_.object_count = spec_.counts.count;
  args_.total = spec_.total;
  const int index_bytes = args_.IndexWidth();
  objects_ =
      PendingResult{ResultRole::kObjects, IndexType(index_bytes), index_bytes, spec_.total, spec_.objects_target};
  ranks_ = PendingResult{ResultRole::kRanks, IndexType(index_bytes), index_bytes, spec_.total, spec_.ranks_target};
}

int64_t LoadBalanceOperation::work_bytes() const {
  return spec_.counts.size_bytes() + objects_.size_bytes() + ranks_.size_bytes();
}

int64_t LoadBalanceOperation::device_bytes(const Engine& engine) const {
  if (!InTurn()) return work_bytes() + engine.WorkspaceBytes(args_);
  LoadBalanceArgs piece = args_;
  piece.object_count = std::min(piece.object_count, kPieceIntervals);
  piece.total = std::min(piece.total, kPieceBytes / objects_.element_bytes + 1);
  return PieceBytes(objects_, spec_.counts, 2) + PieceBytes(ranks_, spec_.counts, 0) + engine.WorkspaceBytes(piece) +
         engine.WorkspaceBytes(Naming(piece.object_count, piece.total));
}

bool LoadBalanceOperation::InTurn() const { return TakesRows(spec_.objects_target) && TakesRows(spec_.ranks_target); }

ExpandArgs LoadBalanceOperation::Naming(int64_t count, int64_t rows) const {
  ExpandArgs naming;
  naming.element_bytes = objects_.element_bytes;
  naming.interval_count = count;
  naming.total = rows;
  return naming;
}

absl::StatusOr<int64_t> LoadBalanceOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                                       absl::Span<void* const> d_out, OperatorReport* report) {
  piece_ = cursor_.Next(most_rows, most_intervals);
  if (piece_.counts.empty()) return NoIntervals();
  const int width = objects_.element_bytes;
  // Ranks in the first object continue from the previous piece. The engine only counts ranks of whole objects.
  const bool goes_on = piece_.skipped > 0;
  const int64_t going_on = goes_on ? piece_.counts.front() : 0;
  const auto count = static_cast<int64_t>(piece_.counts.size());
  CORANK_ASSIGN_OR_RETURN(const int64_t* const d_counts, UploadInt64(stream, piece_.counts));
  CORANK_ASSIGN_OR_RETURN(void* const d_numbers, stream.AllocateDevice(count * width));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Iota(d_numbers, width, piece_.first_interval, count));
  if (goes_on) CORANK_RETURN_IF_ERROR(stream.Iota(d_out[1], width, piece_.skipped, going_on));
  LoadBalanceArgs whole;
  whole.counts = d_counts + (goes_on ? 1 : 0);
  whole.object_count = count - (goes_on ? 1 : 0);
  whole.total = piece_.rows - going_on;
  whole.objects_out = static_cast<char*>(d_out[0]) + going_on * width;
  whole.ranks_out = static_cast<char*>(d_out[1]) + going_on * width;
  whole.least_index_bytes = width;
  CORANK_RETURN_IF_ERROR(stream.LoadBalance(whole, report));
  // Replaces the object numbers, which the engine counted from the piece's first object.
  ExpandArgs naming = Naming(count, piece_.rows);
  naming.values = d_numbers;
  naming.counts = d_counts;
  naming.out = d_out[0];
  CORANK_RETURN_IF_ERROR(stream.Expand(naming, report));
  return piece_.rows;
}

absl::Status LoadBalanceOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.counts, UploadInt64(stream, spec_.counts));
  CORANK_RETURN_IF_ERROR(objects_.Allocate(stream));
  CORANK_RETURN_IF_ERROR(ranks_.Allocate(stream));
  args_.objects_out = objects_.buffer.device;
  args_.ranks_out = ranks_.buffer.device;
  return absl::OkStatus();
}

absl::Status LoadBalanceOperation::Run(EngineStream& stream, OperatorReport* report) {
  return stream.LoadBalance(args_, report);
}

absl::Status LoadBalanceOperation::CopyOut(EngineStream& stream) {
  CORANK_RETURN_IF_ERROR(ranks_.Check());
  CORANK_RETURN_IF_ERROR(objects_.Download(stream));
  return ranks_.Download(stream);
}

void LoadBalanceOperation::Collect(const OperatorReport&, Outcome& outcome) const {
  outcome.results.push_back(objects_.Collect());
  outcome.results.push_back(ranks_.Collect());
}

absl::Status LoadBalanceOperation::FaultStatus(const OperatorReport& report) const { return UnexpectedFault(report); }

}  // namespace corank
