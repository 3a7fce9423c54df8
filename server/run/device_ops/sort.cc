#include "server/run/device_ops/sort.h"

#include <utility>

#include "proto/wire_enums.h"
#include "server/run/device_ops/sharded_segment_sort.h"
#include "server/run/device_ops/sharded_sort.h"
#include "server/run/external_sort.h"

namespace corank {
namespace {

// Positions among all keys of a batch have 32 bits.
constexpr int64_t kMostFusedKeys = 1 << 20;

bool HasNoResults(const SortOperation::Spec& sort) {
  const bool is_pending = sort.keys.is_pending || (sort.values && sort.values->is_pending);
  return !is_pending && !sort.segment_offsets && sort.result_count() == 0;
}

}  // namespace

SortOperation::SortOperation(Spec spec) : spec_(std::move(spec)) {
  const Operand& keys = spec_.keys;
  args_.key_type = KeyTypeOf(keys.type);
  args_.order = spec_.order;
  args_.algorithm = spec_.algorithm;
  // A large array that gives no results need not fit into the device.
  const bool is_empty = HasNoResults(spec_);
  args_.count = is_empty ? 0 : keys.count;
  args_.limit = spec_.limit;
  args_.offset = spec_.offset;
  args_.value_bytes = spec_.values ? spec_.values->element_bytes : 0;
  if (spec_.segment_offsets) args_.segment_count = spec_.segment_offsets->count - 1;
  if (!is_empty) {
    AddInput(keys, &args_.keys_in);
    AddInput(spec_.values, &args_.values_in);
    AddInput(spec_.segment_offsets, &args_.segment_offsets);
  }
  const int64_t count = spec_.result_count();
  if (spec_.want_keys)
    AddResult({ResultRole::kKeys, keys.type, keys.element_bytes, count, spec_.keys_target}, &args_.keys_out);
  if (spec_.values) {
    AddResult({ResultRole::kValues, spec_.values->type, args_.value_bytes, count, spec_.values_target},
              &args_.values_out);
  }
  if (spec_.want_indices) {
    const int index_bytes = IndexBytes(keys.count - 1);
    AddResult({ResultRole::kIndices, IndexType(index_bytes), index_bytes, count, spec_.indices_target},
              &args_.indices_out);
  }
}

Pace SortOperation::pace() const {
  // One block or one cluster sorts this many keys in one launch.
  constexpr int64_t kBriefKeys = kSortEachKeys;
  const bool is_brief = spec_.keys.is_pinned && spec_.keys.count > 0 && spec_.keys.count <= kBriefKeys &&
                        spec_.want_keys && !spec_.want_indices && !spec_.values && !spec_.segment_offsets &&
                        spec_.limit < 0 && spec_.offset == 0 && spec_.keys_target == nullptr &&
                        spec_.algorithm == SortAlgorithm::kAuto;
  return is_brief ? Pace::kBrief : Pace::kPhases;
}

std::unique_ptr<const ExternalWork> SortOperation::external() const { return ExternalSort::For(spec_); }

Sharing SortOperation::sharing() const {
  if (!(spec_.segment_offsets ? ShardedSegmentSort::Takes(*this) : ShardedSortOperation::Takes(spec_))) return {};
  return {spec_.values ? 2 : 1, spec_.segment_offsets ? Exchange::kNone : Exchange::kCopies};
}

std::unique_ptr<Operation> SortOperation::Sharded(const DeviceGroup& by) const {
  if (spec_.segment_offsets) return std::make_unique<ShardedSegmentSort>(spec_, by.devices);
  return std::make_unique<ShardedSortOperation>(spec_, by);
}

std::optional<FuseKey> SortOperation::fuse_key() const {
  const auto is_in_message = [](const Operand& operand) { return !operand.on_device && !operand.is_shared; };
  const bool may_fuse = !spec_.segment_offsets && spec_.limit < 0 && spec_.offset == 0 &&
                        spec_.keys.count <= kMostFusedKeys && is_in_message(spec_.keys) &&
                        (!spec_.values || is_in_message(*spec_.values)) && spec_.keys_target == nullptr &&
                        spec_.values_target == nullptr && spec_.indices_target == nullptr;
  if (!may_fuse) return std::nullopt;
  return FuseKey{spec_.keys.type, spec_.order,        spec_.algorithm,
                 spec_.want_keys, spec_.want_indices, spec_.values ? spec_.values->element_bytes : 0};
}

bool SortOperation::is_light() const {
  return spec_.keys.element_bytes >= 4 && !spec_.values && !spec_.want_indices && !spec_.segment_offsets;
}

int64_t SortOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which outputs are present.
  SortArgs args = args_;
  int64_t any = 0;
  if (spec_.want_keys) args.keys_out = &any;
  if (spec_.values) args.values_in = args.values_out = &any;
  if (spec_.want_indices) args.indices_out = &any;
  if (spec_.segment_offsets) args.segment_offsets = &any;
  return work_bytes() + engine.WorkspaceBytes(args);
}

void SortOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  PhasedOperation::Collect(report, outcome);
  outcome.sort_algorithm = ToWire(report.sort_algorithm);
}

}  // namespace corank
