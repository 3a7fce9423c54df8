#include "server/run/device_ops/merge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/external_merge.h"

namespace corank {

MergeOperation::MergeOperation(Spec spec) : spec_(std::move(spec)), inputs_(spec_.keys.size()) {
  int64_t total = 0;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    AddInput(spec_.keys[i]);
    total += inputs_[i].count = spec_.keys[i].count;
  }
  for (const Operand& values : spec_.values) AddInput(values);
  const Operand& keys = spec_.keys.front();
  AddResult({ResultRole::kKeys, keys.type, keys.element_bytes, total, spec_.keys_target});
  if (spec_.values.empty()) return;
  const Operand& values = spec_.values.front();
  AddResult({ResultRole::kValues, values.type, values.element_bytes, total, spec_.values_target});
}

std::unique_ptr<const ExternalWork> MergeOperation::external() const { return ExternalMerge::For(spec_); }

bool MergeOperation::is_light() const {
  constexpr size_t kFew = 8;  // each further level of the merge tree costs as much again
  return spec_.keys.front().element_bytes >= 4 && spec_.values.empty() && inputs_.size() <= kFew;
}

MergeArgs MergeOperation::Args() const {
  MergeArgs args;
  args.key_type = KeyTypeOf(spec_.keys.front().type);
  args.order = spec_.order;
  args.algorithm = spec_.algorithm;
  args.inputs = inputs_.data();
  args.input_count = static_cast<int32_t>(inputs_.size());
  args.keys_out = DeviceOf(ResultRole::kKeys);
  args.values_out = DeviceOf(ResultRole::kValues);
  args.value_bytes = spec_.values.empty() ? 0 : spec_.values.front().element_bytes;
  args.check_sorted = spec_.check_sorted;
  return args;
}

absl::Status MergeOperation::CopyIn(EngineStream& stream) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    CORANK_RETURN_IF_ERROR(UploadTo(stream, spec_.keys[i], &inputs_[i].keys));
    if (!spec_.values.empty()) CORANK_RETURN_IF_ERROR(UploadTo(stream, spec_.values[i], &inputs_[i].values));
  }
  return AllocateResults(stream);
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
