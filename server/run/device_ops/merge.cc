#include "server/run/device_ops/merge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/errors.h"
#include "server/run/device_ops/sharded_merge.h"
#include "server/run/external_merge.h"

namespace corank {

MergeOperation::MergeOperation(Spec spec) : spec_(std::move(spec)), inputs_(spec_.keys.size()) {
  const Operand& keys = spec_.keys.front();
  args_.key_type = KeyTypeOf(keys.type);
  args_.order = spec_.order;
  args_.algorithm = spec_.algorithm;
  args_.inputs = inputs_.data();
  args_.input_count = static_cast<int32_t>(inputs_.size());
  args_.check_sorted = spec_.check_sorted;
  int64_t total = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    total += inputs_[i].count = spec_.keys[i].count;
    AddInput(spec_.keys[i], &inputs_[i].keys);
    if (!spec_.values.empty()) AddInput(spec_.values[i], &inputs_[i].values);
  }
  AddResult({ResultRole::kKeys, keys.type, keys.element_bytes, total, spec_.keys_target}, &args_.keys_out);
  if (spec_.values.empty()) return;
  const Operand& values = spec_.values.front();
  args_.value_bytes = values.element_bytes;
  AddResult({ResultRole::kValues, values.type, values.element_bytes, total, spec_.values_target}, &args_.values_out);
}

std::unique_ptr<const ExternalWork> MergeOperation::external() const { return ExternalMerge::For(*this); }

Sharing MergeOperation::sharing() const {
  if (!ShardedMergeOperation::Takes(*this)) return {};
  return {static_cast<int64_t>(spec_.keys.size() + spec_.values.size()), Exchange::kNone};
}

std::unique_ptr<Operation> MergeOperation::Sharded(const DeviceGroup& by) const {
  return std::make_unique<ShardedMergeOperation>(spec_, by.devices);
}

absl::Status MergeOperation::CheckShards(int devices) const {
  const auto arrays = static_cast<int64_t>(spec_.keys.size());
  if (arrays * devices <= ShardedMergeOperation::kMaxRuns) return absl::OkStatus();
  return TooLargeField("keys", absl::StrCat("a merge takes at most ", ShardedMergeOperation::kMaxRuns,
                                            " parts of sharded arrays, but ", arrays, " arrays on ", devices,
                                            " devices have ", arrays * devices, "; merge some of them first"));
}

bool MergeOperation::is_light() const {
  constexpr size_t kFew = 8;  // each further level of the merge tree costs as much again
  return spec_.keys.front().element_bytes >= 4 && spec_.values.empty() && inputs_.size() <= kFew;
}

void MergeOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  PhasedOperation::Collect(report, outcome);
  outcome.merge_algorithm = ToWire(report.merge_algorithm);
}

absl::Status MergeOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted) return UnexpectedFault(report);
  return NotSorted(absl::StrCat("keys[", report.input, "]"), report.index, spec_.order);
}

}  // namespace corank
