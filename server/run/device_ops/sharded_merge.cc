#include "server/run/device_ops/sharded_merge.h"

#include <algorithm>
#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/chunk_merge.h"
#include "server/run/external_merge.h"

namespace corank {
namespace {

// Copies of fewer bytes take the host longer to enqueue than the bus to do.
constexpr int64_t kPieceBytes = int64_t{256} << 10;

}  // namespace

bool ShardedMergeOperation::Takes(const MergeOperation::Spec& merge) {
  const auto are_on_host = [](const std::vector<Operand>& arrays) {
    return std::all_of(arrays.begin(), arrays.end(), IsOnHost);
  };
  return are_on_host(merge.keys) && are_on_host(merge.values) && RowsOf(merge) > 0 && WritesApart(merge);
}

ShardedMergeOperation::ShardedMergeOperation(MergeOperation::Spec merge, uint64_t devices)
    : ShardedOperation(std::make_unique<MergeOperation>(merge), devices), spec_(std::move(merge)) {}

int64_t ShardedMergeOperation::device_bytes(const Engine& engine) const {
  const int64_t most = FirstOf(1, result_count());
  return most * ShapeOf(spec_).row_bytes() +
         ShardedMerge::WorkspaceBytes(MergeOptions(), most, static_cast<int>(spec_.keys.size()), engine);
}

ShardedMerge::Options ShardedMergeOperation::MergeOptions() const {
  const RowShape shape = ShapeOf(spec_);
  ShardedMerge::Options options;
  options.key_type = shape.key_type;
  options.order = shape.order;
  options.algorithm = spec_.algorithm;
  options.value_bytes = shape.value_bytes;
  options.check_sorted = spec_.check_sorted;
  options.tile_bytes = std::max(options.tile_bytes, static_cast<int64_t>(spec_.keys.size()) * kPieceBytes);
  options.is_on_host = true;
  return options;
}

absl::Status ShardedMergeOperation::Enqueue(Lane& lane, std::vector<ShardResult> results) {
  const ShardedMerge::Options options = MergeOptions();
  for (ShardResult& result : results) {
    CORANK_ASSIGN_OR_RETURN(result.keys, result.stream->AllocateDevice(result.count * KeyBytes(options.key_type)));
    if (options.value_bytes == 0) continue;
    CORANK_ASSIGN_OR_RETURN(result.values, result.stream->AllocateDevice(result.count * options.value_bytes));
  }
  const auto rows_of = [](const Operand& array) { return static_cast<const char*>(array.bytes); };
  std::vector<ShardedMerge::Run> runs;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    runs.push_back(
        {rows_of(spec_.keys[i]), spec_.values.empty() ? nullptr : rows_of(spec_.values[i]), spec_.keys[i].count});
  }
  merge_ = std::make_unique<ShardedMerge>(options, std::move(results));
  merge_->CutOnHost(std::move(runs));
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return merge_->Merge();
}

// The merge on one device reports the element that is out of order.
bool ShardedMergeOperation::Conclude(Outcome& outcome) const {
  if (!merge_->in_order()) return false;
  outcome.merge_algorithm = ToWire(merge_->report().merge_algorithm);
  return true;
}

}  // namespace corank
