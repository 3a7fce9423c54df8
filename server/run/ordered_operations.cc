#include "server/run/ordered_operations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Keys have the numbers of corank.v1.ElementType.
KeyType ToKeyType(v1::ElementType type) { return static_cast<KeyType>(type); }

}  // namespace

absl::Status NotSorted(absl::string_view field, int64_t index, Order order) {
  return FieldError(v1::ERROR_REASON_KEYS_NOT_SORTED, field,
                    absl::StrCat("not sorted in ", order == Order::kAscending ? "ascending" : "descending",
                                 " order: the element at index ", index, " comes before the one at index ", index - 1),
                    {{"index", absl::StrCat(index)}});
}

SortOperation::SortOperation(Spec spec) : spec_(std::move(spec)) {
  const Operand& keys = spec_.keys;
  args_.key_type = ToKeyType(keys.type);
  args_.order = spec_.order;
  args_.algorithm = spec_.algorithm;
  args_.count = keys.count;
  args_.limit = spec_.limit;
  const int64_t count = args_.ResultCount();
  if (spec_.want_keys)
    keys_ = PendingResult{ResultRole::kKeys, keys.type, keys.element_bytes, count, spec_.keys_target};
  if (spec_.values) {
    args_.value_bytes = spec_.values->element_bytes;
    values_ = PendingResult{ResultRole::kValues, spec_.values->type, args_.value_bytes, count, spec_.values_target};
  }
  if (spec_.want_indices) {
    const int index_bytes = IndexBytes(keys.count - 1);
    indices_ = PendingResult{ResultRole::kIndices, IndexType(index_bytes), index_bytes, count, spec_.indices_target};
  }
  if (spec_.segment_offsets) args_.segment_count = spec_.segment_offsets->count - 1;
}

Pace SortOperation::pace() const {
  // One block or one cluster sorts this many keys in one launch.
  constexpr int64_t kBriefKeys = kSortEachKeys;
  const bool is_brief = spec_.keys.is_pinned && spec_.keys.count > 0 && spec_.keys.count <= kBriefKeys &&
                        spec_.want_keys && !spec_.want_indices && !spec_.values && !spec_.segment_offsets &&
                        spec_.limit < 0 && spec_.keys_target == nullptr && spec_.algorithm == SortAlgorithm::kAuto;
  return is_brief ? Pace::kBrief : Pace::kPhases;
}

int64_t SortOperation::work_bytes() const {
  int64_t bytes = spec_.keys.size_bytes();
  for (const auto* input : {&spec_.values, &spec_.segment_offsets}) bytes += *input ? (*input)->size_bytes() : 0;
  for (const auto* result : {&keys_, &values_, &indices_}) bytes += *result ? (*result)->size_bytes() : 0;
  return bytes;
}

bool SortOperation::is_light() const {
  return spec_.keys.element_bytes >= 4 && !values_ && !indices_ && !spec_.segment_offsets;
}

int64_t SortOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which outputs are present.
  SortArgs args = args_;
  char any = 0;
  if (keys_) args.keys_out = &any;
  if (values_) args.values_in = args.values_out = &any;
  if (indices_) args.indices_out = &any;
  if (spec_.segment_offsets) args.segment_offsets = reinterpret_cast<const int64_t*>(&any);
  return work_bytes() + engine.WorkspaceBytes(args);
}

absl::Status SortOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.keys_in, Upload(stream, spec_.keys));
  if (keys_) CORANK_RETURN_IF_ERROR(keys_->Allocate(stream));
  if (values_) {
    CORANK_ASSIGN_OR_RETURN(args_.values_in, Upload(stream, *spec_.values));
    CORANK_RETURN_IF_ERROR(values_->Allocate(stream));
  }
  if (indices_) CORANK_RETURN_IF_ERROR(indices_->Allocate(stream));
  if (spec_.segment_offsets) {
    CORANK_ASSIGN_OR_RETURN(const void* offsets, Upload(stream, *spec_.segment_offsets));
    args_.segment_offsets = static_cast<const int64_t*>(offsets);
  }
  return absl::OkStatus();
}

absl::Status SortOperation::Run(EngineStream& stream, OperatorReport* report) {
  if (keys_) args_.keys_out = keys_->buffer.device;
  if (values_) args_.values_out = values_->buffer.device;
  if (indices_) args_.indices_out = indices_->buffer.device;
  return stream.Sort(args_, report);
}

absl::Status SortOperation::CopyOut(EngineStream& stream) {
  for (const auto* result : {&keys_, &values_, &indices_}) {
    if (*result) CORANK_RETURN_IF_ERROR((*result)->Check());
  }
  for (const auto* result : {&keys_, &values_, &indices_}) {
    if (*result) CORANK_RETURN_IF_ERROR((*result)->Download(stream));
  }
  return absl::OkStatus();
}

void SortOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  for (const auto* result : {&keys_, &values_, &indices_}) {
    if (*result) outcome.results.push_back((*result)->Collect());
  }
  outcome.sort_algorithm = ToWire(report.sort_algorithm);
}

absl::Status SortOperation::FaultStatus(const OperatorReport& report) const { return UnexpectedFault(report); }

MergeOperation::MergeOperation(Spec spec) : spec_(std::move(spec)), inputs_(spec_.keys.size()) {
  int64_t total = 0;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    inputs_[i].count = spec_.keys[i].count;
    total += spec_.keys[i].count;
  }
  const Operand& keys = spec_.keys.front();
  keys_ = PendingResult{ResultRole::kKeys, keys.type, keys.element_bytes, total, spec_.keys_target};
  if (!spec_.values.empty()) {
    const Operand& values = spec_.values.front();
    values_ = PendingResult{ResultRole::kValues, values.type, values.element_bytes, total, spec_.values_target};
  }
}

int64_t MergeOperation::work_bytes() const {
  int64_t bytes = keys_.size_bytes() + (values_ ? values_->size_bytes() : 0);
  for (const auto* inputs : {&spec_.keys, &spec_.values}) {
    for (const Operand& input : *inputs) bytes += input.size_bytes();
  }
  return bytes;
}

bool MergeOperation::is_light() const {
  constexpr size_t kFew = 8;  // each further level of the merge tree costs as much again
  return keys_.element_bytes >= 4 && !values_ && inputs_.size() <= kFew;
}

int64_t MergeOperation::device_bytes(const Engine& engine) const {
  MergeArgs args;
  args.key_type = ToKeyType(keys_.type);
  args.order = spec_.order;
  args.algorithm = spec_.algorithm;
  args.inputs = inputs_.data();
  args.input_count = static_cast<int32_t>(inputs_.size());
  args.value_bytes = values_ ? values_->element_bytes : 0;
  args.check_sorted = spec_.check_sorted;
  return work_bytes() + engine.WorkspaceBytes(args);
}

absl::Status MergeOperation::CopyIn(EngineStream& stream) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    CORANK_ASSIGN_OR_RETURN(inputs_[i].keys, Upload(stream, spec_.keys[i]));
    if (values_) {
      CORANK_ASSIGN_OR_RETURN(inputs_[i].values, Upload(stream, spec_.values[i]));
    }
  }
  CORANK_RETURN_IF_ERROR(keys_.Allocate(stream));
  return values_ ? values_->Allocate(stream) : absl::OkStatus();
}

absl::Status MergeOperation::Run(EngineStream& stream, OperatorReport* report) {
  MergeArgs args;
  args.key_type = ToKeyType(keys_.type);
  args.order = spec_.order;
  args.algorithm = spec_.algorithm;
  args.inputs = inputs_.data();
  args.input_count = static_cast<int32_t>(inputs_.size());
  args.keys_out = keys_.buffer.device;
  if (values_) {
    args.values_out = values_->buffer.device;
    args.value_bytes = values_->element_bytes;
  }
  args.check_sorted = spec_.check_sorted;
  return stream.Merge(args, report);
}

absl::Status MergeOperation::CopyOut(EngineStream& stream) {
  if (values_) CORANK_RETURN_IF_ERROR(values_->Check());
  CORANK_RETURN_IF_ERROR(keys_.Download(stream));
  return values_ ? values_->Download(stream) : absl::OkStatus();
}

void MergeOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  outcome.results.push_back(keys_.Collect());
  if (values_) outcome.results.push_back(values_->Collect());
  outcome.merge_algorithm = ToWire(report.merge_algorithm);
}

absl::Status MergeOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted) return UnexpectedFault(report);
  return NotSorted(absl::StrCat("keys[", report.input, "]"), report.index, spec_.order);
}

SearchOperation::SearchOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = ToKeyType(spec_.haystack.type);
  args_.order = spec_.order;
  args_.bound = spec_.bound;
  args_.haystack_count = spec_.haystack.count;
  args_.needle_count = spec_.needles.count;
  args_.check_sorted = spec_.check_sorted;
  const int index_bytes = IndexBytes(spec_.haystack.count);
  positions_ =
      PendingResult{ResultRole::kPositions, IndexType(index_bytes), index_bytes, spec_.needles.count, spec_.target};
}

int64_t SearchOperation::work_bytes() const {
  return spec_.haystack.size_bytes() + spec_.needles.size_bytes() + positions_.size_bytes();
}

int64_t SearchOperation::device_bytes(const Engine& engine) const {
  if (!InTurn())
    return spec_.haystack.device_bytes() + spec_.needles.device_bytes() + positions_.size_bytes() +
           engine.WorkspaceBytes(args_);
  SearchArgs piece = args_;
  piece.needle_count = std::min(piece.needle_count, kPieceBytes / positions_.element_bytes);
  return spec_.haystack.device_bytes() + spec_.needles.device_bytes() + piece.needle_count * positions_.element_bytes +
         engine.WorkspaceBytes(piece);
}

bool SearchOperation::InTurn() const {
  // Without needles, nothing would check the haystack.
  return (spec_.haystack.on_device || spec_.haystack.is_pending) && spec_.needles.count > 0 && TakesRows(spec_.target);
}

absl::StatusOr<int64_t> SearchOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t,
                                                  absl::Span<void* const> d_out, OperatorReport* report) {
  const bool is_first = found_ == 0;
  SearchArgs args = args_;
  args.needle_count = std::min(most_rows, spec_.needles.count - found_);
  args.check_sorted = args.check_sorted && is_first;
  args.positions_out = d_out[0];
  CORANK_ASSIGN_OR_RETURN(args.haystack, Upload(stream, haystack_));
  CORANK_ASSIGN_OR_RETURN(args.needles, Upload(stream, Slice(spec_.needles, found_, args.needle_count)));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Search(args, report));
  found_ += args.needle_count;
  return args.needle_count;
}

absl::Status SearchOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.haystack, Upload(stream, spec_.haystack));
  CORANK_ASSIGN_OR_RETURN(args_.needles, Upload(stream, spec_.needles));
  CORANK_RETURN_IF_ERROR(positions_.Allocate(stream));
  args_.positions_out = positions_.buffer.device;
  return absl::OkStatus();
}

absl::Status SearchOperation::Run(EngineStream& stream, OperatorReport* report) { return stream.Search(args_, report); }
absl::Status SearchOperation::CopyOut(EngineStream& stream) { return positions_.Download(stream); }

void SearchOperation::Collect(const OperatorReport&, Outcome& outcome) const {
  outcome.results.push_back(positions_.Collect());
}

absl::Status SearchOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted) return UnexpectedFault(report);
  return NotSorted("haystack", report.index, spec_.order);
}

}  // namespace corank
