#include "server/run/device_ops/select.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace corank {

SelectOperation::SelectOperation(Spec spec) : spec_(std::move(spec)) {
  args_.by = spec_.by;
  args_.negate = spec_.negate;
  args_.partition = spec_.partition;
  args_.comparison = spec_.comparison;
  args_.count = spec_.elements.count;
  args_.element_bytes = spec_.elements.element_bytes;
  if (spec_.by == SelectBy::kThreshold) args_.key_type = KeyTypeOf(spec_.elements.type);
  if (spec_.by == SelectBy::kPositions) args_.position_count = spec_.predicate.count;
  AddInput(spec_.elements, &args_.elements);
  AddInput(spec_.values, &args_.values);
  AddPredicate();
  if (spec_.wants_elements) {
    AddResult({ResultRole::kElements, spec_.elements.type, args_.element_bytes, args_.count, spec_.elements_target},
              &args_.elements_out, spec_.partition);
  }
  if (spec_.values) {
    args_.value_bytes = spec_.values->element_bytes;
    AddResult({ResultRole::kValues, spec_.values->type, args_.value_bytes, args_.count, spec_.values_target},
              &args_.values_out, spec_.partition);
  }
  if (spec_.wants_indices) {
    const int index_bytes = IndexBytes(args_.count - 1);
    AddResult({ResultRole::kIndices, IndexType(index_bytes), index_bytes, args_.count, spec_.indices_target},
              &args_.indices_out, spec_.partition);
  }
  if (spec_.wants_count) {
    AddResult({ResultRole::kCount, v1::ELEMENT_TYPE_INT64, 8, 1, spec_.count_target}, &args_.count_out, true);
  }
}

void SelectOperation::AddPredicate() {
  switch (spec_.by) {
    case SelectBy::kFlags:
    case SelectBy::kBitmap:
      return AddInput(spec_.predicate, &args_.flags);
    case SelectBy::kPositions:
      return AddInput(spec_.predicate, &args_.positions);
    case SelectBy::kThreshold:
      return AddInput(spec_.predicate, &args_.threshold);
  }
}

absl::StatusOr<int64_t> SelectOperation::Count() const {
  if (report_.out_of_range < 0) return report_.selected;
  return InvalidField(absl::StrCat("positions[", report_.out_of_range, "]"),
                      absl::StrCat("must be 0 or more, and less than the number of elements, ", args_.count));
}

}  // namespace corank
