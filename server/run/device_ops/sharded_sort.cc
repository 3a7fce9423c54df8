#include "server/run/device_ops/sharded_sort.h"

#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/run_sort.h"

namespace corank {

bool ShardedSortOperation::Takes(const SortOperation::Spec& sort) {
  return !sort.segment_offsets && sort.limit != 0 && IsOnHost(sort.keys) &&
         (!sort.want_keys || RowResult::CanHold(sort.keys_target)) &&
         (!sort.want_indices || RowResult::CanHold(sort.indices_target)) &&
         (!sort.values || (IsOnHost(*sort.values) && RowResult::CanHold(sort.values_target)));
}

ShardedSortOperation::ShardedSortOperation(SortOperation::Spec sort, uint64_t devices)
    : ShardedOperation(std::make_unique<SortOperation>(sort), devices),
      spec_(std::move(sort)),
      shape_(RunSorter::ShapeOf(spec_)) {}

int64_t ShardedSortOperation::device_bytes(const Engine& engine) const {
  const int64_t most = FirstOf(1, spec_.keys.count);
  return most * shape_.row_bytes() +
         ShardedSort::WorkspaceBytes(SortOptions(), most, FirstOf(1, result_count()), shards(), engine);
}

ShardedSort::Options ShardedSortOperation::SortOptions() const {
  ShardedSort::Options options;
  options.key_type = shape_.key_type;
  options.order = shape_.order;
  options.algorithm = spec_.algorithm;
  options.value_bytes = shape_.value_bytes;
  options.limit = spec_.limit;
  return options;
}

absl::StatusOr<std::vector<Shard>> ShardedSortOperation::CopyIn(std::vector<ShardResult> results) const {
  std::vector<Shard> shards;
  for (size_t i = 0; i < results.size(); ++i) {
    Shard shard;
    shard.result = results[i];
    EngineStream& stream = *shard.result.stream;
    const int64_t first = FirstOf(i, spec_.keys.count);
    shard.count = FirstOf(i + 1, spec_.keys.count) - first;
    const auto copy = [&](const Operand& array) -> absl::StatusOr<void*> {
      const int64_t bytes = shard.count * array.element_bytes;
      CORANK_ASSIGN_OR_RETURN(void* const d_rows, stream.AllocateDevice(bytes));
      const auto* const h_rows = static_cast<const char*>(array.bytes) + first * array.element_bytes;
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(d_rows, h_rows, bytes));
      return d_rows;
    };
    CORANK_ASSIGN_OR_RETURN(shard.result.keys, copy(spec_.keys));
    if (spec_.values) {
      CORANK_ASSIGN_OR_RETURN(shard.result.values, copy(*spec_.values));
    } else if (spec_.want_indices) {
      CORANK_ASSIGN_OR_RETURN(shard.result.values, stream.AllocateDevice(shard.count * shape_.value_bytes));
      CORANK_RETURN_IF_ERROR(stream.Iota(shard.result.values, shape_.value_bytes, first, shard.count));
    }
    shard.keys = shard.result.keys;
    shard.values = shard.result.values;
    CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
    shards.push_back(shard);
  }
  return shards;
}

absl::Status ShardedSortOperation::Enqueue(Lane& lane, std::vector<ShardResult> results) {
  CORANK_ASSIGN_OR_RETURN(std::vector<Shard> shards, CopyIn(std::move(results)));
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  sort_ = std::make_unique<ShardedSort>(SortOptions(), std::move(shards));
  CORANK_RETURN_IF_ERROR(sort_->SortEach());
  CORANK_ASSIGN_OR_RETURN(EngineStream* const cutter, SpareStream(lane));
  CORANK_RETURN_IF_ERROR(sort_->Cut(*cutter));
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  lane.set_next_stage(Stage::kCopyOut);
  return sort_->MergePieces();
}

bool ShardedSortOperation::Conclude(Outcome& outcome) const {
  outcome.sort_algorithm = ToWire(sort_->report(0).sort_algorithm);
  return true;
}

}  // namespace corank
