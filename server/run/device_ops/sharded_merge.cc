#include "server/run/device_ops/sharded_merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/chunk_merge.h"
#include "server/run/external_merge.h"

namespace corank {
namespace {

// Copies of fewer bytes take the host longer to enqueue than the bus to do.
constexpr int64_t kPieceBytes = int64_t{256} << 10;

}  // namespace

bool ShardedMergeOperation::AnyIsSharded(const MergeOperation::Spec& merge) {
  const auto any = [](const std::vector<Operand>& arrays) {
    return std::any_of(arrays.begin(), arrays.end(), [](const Operand& array) { return IsSharded(array); });
  };
  return any(merge.keys) || any(merge.values) || IsSharded(merge.keys_target) || IsSharded(merge.values_target);
}

bool ShardedMergeOperation::Takes(const MergeOperation& whole) {
  const MergeOperation::Spec& merge = whole.spec();
  const auto can_share = [any = AnyIsSharded(merge)](const std::vector<Operand>& arrays) {
    return std::all_of(arrays.begin(), arrays.end(), [any](const Operand& array) { return CanShare(array, any); });
  };
  if (!can_share(merge.keys) || !can_share(merge.values)) return false;
  if (AnyIsSharded(merge))
    return CanShare(merge.keys_target) && (merge.values.empty() || CanShare(merge.values_target));
  return RowsOf(merge) > 0 && WritesApart(whole);
}

ShardedMergeOperation::ShardedMergeOperation(MergeOperation::Spec merge, uint64_t devices)
    : ShardedOperation(std::make_unique<MergeOperation>(merge), devices),
      spec_(std::move(merge)),
      is_on_host_(!AnyIsSharded(spec_)) {}

int64_t ShardedMergeOperation::device_bytes(const Engine& engine) const {
  const int64_t most = FirstOf(1, result_count());
  const RowShape shape = ShapeOf(spec_);
  int64_t rows = 0;
  if (!IsSharded(spec_.keys_target)) rows += most * shape.key_bytes;
  if (!IsSharded(spec_.values_target)) rows += most * shape.value_bytes;
  for (const auto* arrays : {&spec_.keys, &spec_.values}) {
    for (const Operand& array : *arrays) {
      if (!is_on_host_ && !IsSharded(array)) rows += FirstOf(1, array.count) * array.element_bytes;
    }
  }
  return rows + ShardedMerge::WorkspaceBytes(MergeOptions(), most, runs(), engine);
}

ShardedMerge::Options ShardedMergeOperation::MergeOptions() const {
  const RowShape shape = ShapeOf(spec_);
  auto options = shape.ArgsOf<ShardedMerge::Options>();
  options.algorithm = spec_.algorithm;
  options.value_bytes = shape.value_bytes;
  options.check_sorted = spec_.check_sorted;
  options.tile_bytes = std::max(options.tile_bytes, static_cast<int64_t>(spec_.keys.size()) * kPieceBytes);
  options.is_on_host = is_on_host_;
  return options;
}

std::vector<ShardedMerge::Run> ShardedMergeOperation::RunsOnHost() const {
  const auto rows_of = [](const Operand& array) { return static_cast<const char*>(array.bytes); };
  std::vector<ShardedMerge::Run> runs;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    runs.push_back(
        {rows_of(spec_.keys[i]), spec_.values.empty() ? nullptr : rows_of(spec_.values[i]), spec_.keys[i].count});
  }
  return runs;
}

// Orders the parts by array, and within an array by device, so that equal keys keep the order of the arrays.
absl::StatusOr<std::vector<ShardedMerge::Run>> ShardedMergeOperation::RunsOnDevices(
    const std::vector<ShardResult>& results) const {
  std::vector<ShardedMerge::Run> runs;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    for (size_t shard = 0; shard < results.size(); ++shard) {
      EngineStream& stream = *results[shard].stream;
      ShardedMerge::Run& run = runs.emplace_back();
      run.count = FirstOf(shard + 1, spec_.keys[i].count) - FirstOf(shard, spec_.keys[i].count);
      run.shard = shard;
      run.continues = shard > 0;
      const auto take = [&](const Operand& array) -> absl::StatusOr<const char*> {
        CORANK_ASSIGN_OR_RETURN(const void* const d_rows,
                                TakePart(stream, array, shards(), static_cast<int64_t>(shard)));
        return static_cast<const char*>(d_rows);
      };
      CORANK_ASSIGN_OR_RETURN(run.keys, take(spec_.keys[i]));
      if (!spec_.values.empty()) {
        CORANK_ASSIGN_OR_RETURN(run.values, take(spec_.values[i]));
      }
    }
  }
  return runs;
}

absl::Status ShardedMergeOperation::Enqueue(Lane& lane, std::vector<ShardResult> results) {
  merge_.reset();
  if (result_count() == 0) return absl::OkStatus();
  const ShardedMerge::Options options = MergeOptions();
  const auto allocate = [](EngineStream& stream, int64_t bytes, void** to) -> absl::Status {
    if (*to != nullptr || bytes == 0) return absl::OkStatus();
    CORANK_ASSIGN_OR_RETURN(*to, stream.AllocateDevice(bytes));
    return absl::OkStatus();
  };
  for (ShardResult& result : results) {
    CORANK_RETURN_IF_ERROR(allocate(*result.stream, result.count * KeyBytes(options.key_type), &result.keys));
    CORANK_RETURN_IF_ERROR(allocate(*result.stream, result.count * options.value_bytes, &result.values));
  }
  if (is_on_host_) {
    merge_ = std::make_unique<ShardedMerge>(options, std::move(results));
    merge_->CutOnHost(RunsOnHost());
  } else {
    CORANK_ASSIGN_OR_RETURN(std::vector<ShardedMerge::Run> runs, RunsOnDevices(results));
    std::vector<const void*> are_ready;
    for (const ShardResult& result : results) {
      CORANK_RETURN_IF_ERROR(result.stream->EndCopyIn());
      CORANK_ASSIGN_OR_RETURN(are_ready.emplace_back(), result.stream->MarkPoint());
    }
    lane.set_next_stage(Stage::kKernel);
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    CORANK_ASSIGN_OR_RETURN(EngineStream* const cutter, SpareStream(lane));
    merge_ = std::make_unique<ShardedMerge>(options, std::move(results));
    CORANK_RETURN_IF_ERROR(merge_->Cut(std::move(runs), std::move(are_ready), *cutter));
  }
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return merge_->Merge();
}

// In host memory, the merge on one device reports the element that is out of order.
absl::StatusOr<bool> ShardedMergeOperation::Conclude(Outcome& outcome) const {
  if (merge_ == nullptr) {  // no rows
    outcome.merge_algorithm = ToWire(MergeAlgorithm::kMergePath);
    return true;
  }
  if (const std::optional<ShardedMerge::Disorder> disorder = merge_->disorder()) {
    const size_t devices = static_cast<size_t>(shards()), array = disorder->run / devices;
    const int64_t first = FirstOf(disorder->run % devices, spec_.keys[array].count);
    return NotSorted(absl::StrCat("keys[", array, "]"), first + disorder->index, spec_.order);
  }
  if (!merge_->in_order()) return false;
  outcome.merge_algorithm = ToWire(merge_->report().merge_algorithm);
  return true;
}

}  // namespace corank
