#include "server/run/device_ops/group.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

v1::ElementType WireType(KeyType type) { return static_cast<v1::ElementType>(type); }  // they have the same numbers

}  // namespace

GroupOperation::GroupOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = KeyTypeOf(spec_.keys.type);
  args_.order = spec_.order;
  args_.check_sorted = spec_.check_sorted;
  args_.count = spec_.keys.count;
  AddInput(spec_.keys, &args_.keys);
  AddInput(spec_.values, &args_.values);
  AddInput(spec_.validity, &args_.values_validity);
  AddInput(spec_.segment_offsets, &args_.segment_offsets);
  if (spec_.segment_offsets) args_.segment_count = spec_.segment_offsets->count - 1;
  Add(spec_.keys_out, ResultRole::kKeys, spec_.keys.type, &args_.keys_out);
  Add(spec_.counts, ResultRole::kCounts, v1::ELEMENT_TYPE_INT64, &args_.counts_out);
  Add(spec_.firsts, ResultRole::kFirsts, IndexType(IndexBytes(args_.count - 1)), &args_.firsts_out);
  if (spec_.ranks.is_wanted) {
    args_.rank_method = spec_.rank_method;
    const int bytes = RankBytes(spec_.rank_method, args_.count);
    const v1::ElementType type =
        spec_.rank_method == RankMethod::kAverage ? v1::ELEMENT_TYPE_FLOAT64 : IndexType(bytes);
    AddResult({ResultRole::kRanks, type, bytes, args_.count, spec_.ranks.target}, &args_.ranks_out, /*is_whole=*/true);
  }
  if (!spec_.values) return;
  args_.value_type = KeyTypeOf(spec_.values->type);
  Add(spec_.sums, ResultRole::kSums, WireType(SumType(args_.value_type)), &args_.sums_out);
  Add(spec_.minima, ResultRole::kMinima, spec_.values->type, &args_.minima_out);
  Add(spec_.maxima, ResultRole::kMaxima, spec_.values->type, &args_.maxima_out);
  Add(spec_.value_counts, ResultRole::kValueCounts, v1::ELEMENT_TYPE_INT64, &args_.value_counts_out);
}

template <typename T>
void GroupOperation::Add(const Wanted& wanted, ResultRole role, v1::ElementType type, T** place) {
  if (wanted.is_wanted) AddResult({role, type, KeyBytes(KeyTypeOf(type)), args_.count, wanted.target}, place);
}

SortArgs GroupOperation::SortPart() const {
  SortArgs sort;
  sort.key_type = args_.key_type;
  sort.order = args_.order;
  sort.count = args_.count;
  sort.segment_offsets = args_.segment_offsets;
  sort.segment_count = args_.segment_count;
  if (spec_.values && !NeedsIndices()) sort.value_bytes = spec_.values->element_bytes;
  return sort;
}

int64_t GroupOperation::SortedBytes() const {
  if (!spec_.sorts) return 0;
  const int64_t index_bytes = NeedsIndices() ? IndexBytes(args_.count - 1) : 0;
  return args_.count * (spec_.keys.element_bytes + SortPart().value_bytes + index_bytes);
}

int64_t GroupOperation::work_bytes() const { return CountedOperation::work_bytes() + SortedBytes(); }

int64_t GroupOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which inputs and outputs are present.
  int64_t any = 0;
  const uint8_t any_validity = 0;
  GroupArgs args = args_;
  if (spec_.keys_out.is_wanted) args.keys_out = &any;
  if (spec_.counts.is_wanted) args.counts_out = &any;
  if (spec_.firsts.is_wanted) args.firsts_out = &any;
  if (spec_.sums.is_wanted) args.sums_out = &any;
  if (spec_.minima.is_wanted) args.minima_out = &any;
  if (spec_.maxima.is_wanted) args.maxima_out = &any;
  if (spec_.value_counts.is_wanted) args.value_counts_out = &any;
  if (spec_.ranks.is_wanted) args.ranks_out = &any;
  if (spec_.validity) args.values_validity = &any_validity;
  if (spec_.sorts && NeedsIndices()) args.indices = &any;
  if (spec_.segment_offsets) args.segment_offsets = &any;
  int64_t workspace_bytes = engine.WorkspaceBytes(args);
  if (spec_.sorts) {
    SortArgs sort = SortPart();
    sort.segment_offsets = args.segment_offsets;
    sort.keys_out = &any;
    if (sort.value_bytes > 0) sort.values_in = sort.values_out = &any;
    if (NeedsIndices()) sort.indices_out = &any;
    workspace_bytes += engine.WorkspaceBytes(sort);
  }
  return work_bytes() + workspace_bytes;
}

absl::Status GroupOperation::CopyIn(EngineStream& stream) {
  CORANK_RETURN_IF_ERROR(CountedOperation::CopyIn(stream));
  if (!spec_.sorts || args_.count == 0) return absl::OkStatus();
  sort_ = SortPart();
  sort_.keys_in = args_.keys;
  CORANK_ASSIGN_OR_RETURN(sort_.keys_out, stream.AllocateDevice(spec_.keys.size_bytes()));
  args_.keys = sort_.keys_out;
  if (sort_.value_bytes > 0) {
    sort_.values_in = args_.values;
    CORANK_ASSIGN_OR_RETURN(sort_.values_out, stream.AllocateDevice(spec_.values->size_bytes()));
    args_.values = sort_.values_out;
  }
  if (NeedsIndices()) {
    CORANK_ASSIGN_OR_RETURN(sort_.indices_out, stream.AllocateDevice(args_.count * IndexBytes(args_.count - 1)));
    args_.indices = sort_.indices_out;
  }
  return absl::OkStatus();
}

absl::Status GroupOperation::Run(EngineStream& stream) {
  if (sort_.count > 0) CORANK_RETURN_IF_ERROR(stream.Sort(sort_, &sort_report_));
  return stream.Group(args_, &report_);
}

absl::StatusOr<int64_t> GroupOperation::Count() const {
  if (sort_report_.fault != OperatorReport::Fault::kNone) return UnexpectedFault(sort_report_);
  if (report_.unsorted >= 0) return NotSorted("keys", report_.unsorted, spec_.order);
  if (report_.overflow < 0) return report_.groups;
  return InvalidField("values",
                      absl::StrCat("the sum of group ", report_.overflow,
                                   " does not fit in 64 bits; ask for no sums, or send the values as floats"));
}

}  // namespace corank
