#include "server/run/device_ops/search.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Whether kernels can read the operand in host memory, where nobody changes it.
bool StaysOnHost(const Operand& operand) { return !operand.on_device && (operand.is_snapshot || operand.is_pinned); }

// Whether all pieces of needles can read the operand.
bool Stays(const Operand& operand) { return operand.on_device || operand.is_pending || StaysOnHost(operand); }
bool Stays(const std::optional<Operand>& operand) { return !operand || Stays(*operand); }

}  // namespace

SearchOperation::SearchOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = KeyTypeOf(spec_.haystack.type);
  args_.order = spec_.order;
  args_.bound = spec_.bound;
  args_.haystack_count = spec_.haystack.count;
  args_.needle_count = spec_.needles.count;
  args_.check_sorted = spec_.check_sorted;
  AddInput(spec_.haystack, &args_.haystack);
  AddInput(spec_.needles, &args_.needles);
  const int index_bytes = IndexBytes(spec_.haystack.count);
  AddResult({ResultRole::kPositions, IndexType(index_bytes), index_bytes, spec_.needles.count, spec_.target},
            &args_.positions_out);
}

int64_t SearchOperation::device_bytes(const Engine& engine) const {
  SearchArgs args = args_;
  const int32_t position_bytes = results().front().element_bytes;
  if (InTurn()) args.needle_count = std::min(args.needle_count, kPieceBytes / position_bytes);
  return spec_.haystack.device_bytes() + spec_.needles.device_bytes() + args.needle_count * position_bytes +
         engine.WorkspaceBytes(args);
}

bool SearchOperation::InTurn() const {
  // Without needles, nothing would check the haystack.
  return Stays(spec_.haystack) && spec_.needles.count > 0 && TakesRows(spec_.target);
}

absl::StatusOr<int64_t> SearchOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t,
                                                  absl::Span<void* const> d_out, OperatorReport* report) {
  SearchArgs args = args_;
  args.needle_count = std::min(most_rows, spec_.needles.count - found_);
  args.check_sorted = args.check_sorted && found_ == 0;
  args.positions_out = d_out[0];
  CORANK_RETURN_IF_ERROR(UploadTo(stream, haystack_, &args.haystack));
  CORANK_RETURN_IF_ERROR(UploadTo(stream, Slice(spec_.needles, found_, args.needle_count), &args.needles));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Search(args, report));
  found_ += args.needle_count;
  return args.needle_count;
}

absl::Status SearchOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted) return UnexpectedFault(report);
  return NotSorted("haystack", report.index, spec_.order);
}

ColumnSearchOperation::ColumnSearchOperation(Spec spec)
    : spec_(std::move(spec)), haystack_(spec_.haystack.size()), needles_(spec_.needles.size()) {
  args_.haystack = haystack_.data();
  args_.needles = needles_.data();
  args_.column_count = static_cast<int32_t>(haystack_.size());
  args_.bound = spec_.bound;
  args_.haystack_count = spec_.haystack.front().rows();
  args_.needle_count = spec_.needles.front().rows();
  args_.check_sorted = spec_.check_sorted;
  AddInputs(spec_.haystack, haystack_);
  AddInputs(spec_.needles, needles_);
  const int index_bytes = IndexBytes(args_.haystack_count);
  AddResult({ResultRole::kPositions, IndexType(index_bytes), index_bytes, args_.needle_count, spec_.target},
            &args_.positions_out);
}

int64_t ColumnSearchOperation::device_bytes(const Engine& engine) const {
  if (!InTurn()) return work_bytes() + engine.WorkspaceBytes(args_);
  ColumnSearchArgs args = args_;
  const int32_t position_bytes = results().front().element_bytes;
  args.needle_count = std::min(args.needle_count, kPieceBytes / position_bytes);
  const auto bytes_of = [](const std::optional<Operand>& operand) { return operand ? operand->device_bytes() : 0; };
  int64_t bytes = args.needle_count * position_bytes + engine.WorkspaceBytes(args);
  for (const InputColumn& column : spec_.haystack) {
    // Kernels read the offsets of strings in host memory if the strings lie there.
    const int64_t offset_bytes = column.data.is_spilled ? 0 : bytes_of(column.offsets);
    bytes += column.data.device_bytes() + offset_bytes + bytes_of(column.validity);
  }
  for (const InputColumn& column : spec_.needles) {
    const int64_t offset_bytes = column.offsets ? (args.needle_count + 1) * column.offsets->element_bytes : 0;
    bytes += column.data.device_bytes() + offset_bytes + bytes_of(column.validity);
  }
  return bytes;
}

bool ColumnSearchOperation::InTurn() const {
  // Without needles, nothing would check the haystack.
  return args_.needle_count > 0 && TakesRows(spec_.target) &&
         std::all_of(spec_.haystack.begin(), spec_.haystack.end(), [](const InputColumn& column) {
           return Stays(column.data) && Stays(column.offsets) && Stays(column.validity);
         });
}

std::vector<Operand*> ColumnSearchOperation::whole_inputs() {
  std::vector<Operand*> inputs;
  for (InputColumn& column : haystack_inputs_) {
    inputs.push_back(&column.data);
    if (column.offsets) inputs.push_back(&*column.offsets);
    if (column.validity) inputs.push_back(&*column.validity);
  }
  for (InputColumn& column : needle_inputs_) {
    if (column.offsets) inputs.push_back(&column.data);  // a piece of rows has strings anywhere in it
  }
  return inputs;
}

absl::StatusOr<int64_t> ColumnSearchOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t,
                                                        absl::Span<void* const> d_out, OperatorReport* report) {
  ColumnSearchArgs args = args_;
  args.needle_count = args_.needle_count - found_;
  // The bitmaps of the next pieces begin at whole bytes.
  if (args.needle_count > most_rows) args.needle_count = std::max<int64_t>(most_rows / 8 * 8, 1);
  if (found_ % 8 != 0) return absl::InternalError("a piece of needles does not begin at a byte of their bitmaps");
  args.check_sorted = args.check_sorted && found_ == 0;
  args.positions_out = d_out[0];
  for (size_t i = 0; i < haystack_.size(); ++i) {
    const InputColumn& from = haystack_inputs_[i];
    CORANK_RETURN_IF_ERROR(UploadTo(stream, from.data, &haystack_[i].data));
    if (from.offsets && StaysOnHost(*from.offsets)) {
      haystack_[i].offsets = static_cast<const int64_t*>(from.offsets->bytes);  // there is no room on the device
    } else if (from.offsets) {
      CORANK_RETURN_IF_ERROR(UploadTo(stream, *from.offsets, &haystack_[i].offsets));
    }
    if (from.validity) CORANK_RETURN_IF_ERROR(UploadTo(stream, *from.validity, &haystack_[i].validity));
  }
  const int64_t count = args.needle_count;
  for (size_t i = 0; i < needles_.size(); ++i) {
    const InputColumn& from = needle_inputs_[i];
    const Operand data = from.offsets ? from.data : Slice(from.data, found_, count);
    CORANK_RETURN_IF_ERROR(UploadTo(stream, data, &needles_[i].data));
    if (from.offsets) {
      CORANK_RETURN_IF_ERROR(UploadTo(stream, Slice(*from.offsets, found_, count + 1), &needles_[i].offsets));
    }
    if (from.validity) {
      const Operand validity = Slice(*from.validity, found_ / 8, ValidityBytes(count));
      CORANK_RETURN_IF_ERROR(UploadTo(stream, validity, &needles_[i].validity));
    }
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.SearchColumns(args, report));
  found_ += count;
  return count;
}

void ColumnSearchOperation::AddInputs(const std::vector<InputColumn>& from, std::vector<KeyColumn>& columns) {
  for (size_t i = 0; i < from.size(); ++i) {
    columns[i] = KeyColumnOf(from[i]);
    AddInput(from[i].data, &columns[i].data);
    AddInput(from[i].offsets, &columns[i].offsets);
    AddInput(from[i].validity, &columns[i].validity);
  }
}

absl::Status ColumnSearchOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted) return UnexpectedFault(report);
  return FieldError(
      v1::ERROR_REASON_KEYS_NOT_SORTED, "haystack_columns",
      absl::StrCat("not sorted by its columns: row ", report.index, " comes before row ", report.index - 1),
      {{"index", absl::StrCat(report.index)}});
}

}  // namespace corank
