#include "server/run/device_ops/combine_sets.h"

#include <utility>

namespace corank {

CombineSetsOperation::CombineSetsOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = KeyTypeOf(spec_.left.type);
  args_.order = spec_.order;
  args_.operation = spec_.operation;
  args_.left.count = spec_.left.count;
  args_.right.count = spec_.right.count;
  AddInput(spec_.left, &args_.left.keys);
  AddInput(spec_.right, &args_.right.keys);
  AddInput(spec_.left_values, &args_.left.values);
  AddInput(spec_.right_values, &args_.right.values);
  if (spec_.count_only) {
    AddResult({ResultRole::kCount, v1::ELEMENT_TYPE_INT64, 8, 1, spec_.count_target}, &args_.count_out, true);
    return;
  }
  const int64_t most = MostResults(args_);
  AddResult({ResultRole::kKeys, spec_.left.type, spec_.left.element_bytes, most, spec_.keys_target}, &args_.keys_out);
  if (!spec_.left_values) return;
  args_.value_bytes = spec_.left_values->element_bytes;
  AddResult({ResultRole::kValues, spec_.left_values->type, args_.value_bytes, most, spec_.values_target},
            &args_.values_out);
}

absl::StatusOr<int64_t> CombineSetsOperation::Count() const {
  if (report_.unsorted < 0) return report_.count;
  return NotSorted(report_.input == 0 ? "left" : "right", report_.unsorted, spec_.order);
}

}  // namespace corank
