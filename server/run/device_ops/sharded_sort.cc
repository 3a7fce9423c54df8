#include "server/run/device_ops/sharded_sort.h"

#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/run_sort.h"

namespace corank {

bool ShardedSortOperation::Takes(const SortOperation::Spec& sort) {
  const bool any_is_sharded = IsSharded(sort.keys) || (sort.values && IsSharded(*sort.values)) ||
                              IsSharded(sort.keys_target) || IsSharded(sort.values_target) ||
                              IsSharded(sort.indices_target);
  return !sort.segment_offsets && (sort.result_count() > 0 || any_is_sharded) && CanShare(sort.keys, any_is_sharded) &&
         (!sort.want_keys || CanShare(sort.keys_target)) && (!sort.want_indices || CanShare(sort.indices_target)) &&
         (!sort.values || (CanShare(*sort.values, any_is_sharded) && CanShare(sort.values_target)));
}

ShardedSortOperation::ShardedSortOperation(SortOperation::Spec sort, const DeviceGroup& by)
    : ShardedOperation(std::make_unique<SortOperation>(sort), by.devices),
      spec_(std::move(sort)),
      are_linked_(by.are_linked),
      shape_(RunSorter::ShapeOf(spec_)) {}

int64_t ShardedSortOperation::device_bytes(const Engine& engine) const {
  const int64_t most = FirstOf(1, spec_.keys.count);
  // Rows in sharded arrays that go to sharded results take no other memory.
  const auto bytes_of = [most](const Operand& array, bool is_wanted, const std::shared_ptr<ResultTarget>& target) {
    const bool is_in_place = IsSharded(array) && is_wanted && IsSharded(target);
    return is_in_place ? 0 : most * array.element_bytes;
  };
  int64_t rows = bytes_of(spec_.keys, spec_.want_keys, spec_.keys_target);
  if (spec_.values) rows += bytes_of(*spec_.values, true, spec_.values_target);
  if (spec_.want_indices) rows += most * shape_.value_bytes;
  return rows + ShardedSort::WorkspaceBytes(SortOptions(), most, FirstOf(1, result_count()), shards(), engine);
}

int64_t ShardedSortOperation::host_bytes() const {
  return ShardedSort::HostBytes(SortOptions(), FirstOf(1, spec_.keys.count), FirstOf(1, result_count()), shards());
}

ShardedSort::Options ShardedSortOperation::SortOptions() const {
  auto options = shape_.ArgsOf<ShardedSort::Options>();
  options.algorithm = spec_.algorithm;
  options.value_bytes = shape_.value_bytes;
  options.limit = spec_.limit;
  options.offset = spec_.offset;
  options.are_linked = are_linked_;
  if (spec_.limit < 0 && spec_.offset == 0) {
    options.lends_keys = IsSharded(spec_.keys);
    options.lends_values = spec_.values ? IsSharded(*spec_.values) : IsSharded(spec_.indices_target);
  }
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
    const auto allocate = [&](int64_t bytes) -> absl::StatusOr<void*> {
      if (bytes == 0) return nullptr;
      return stream.AllocateDevice(bytes);
    };
    // The rows of `array`, and memory for the result unless it has some: that of copied rows, which are not needed
    // once they are sorted.
    const auto take = [&](const Operand& array, void*& result) -> absl::StatusOr<const void*> {
      if (IsSharded(array)) {
        if (result == nullptr) {
          CORANK_ASSIGN_OR_RETURN(result, allocate(shard.result.count * array.element_bytes));
        }
        return array.shards[i];
      }
      const int64_t bytes = shard.count * array.element_bytes;
      CORANK_ASSIGN_OR_RETURN(void* const d_rows, allocate(bytes));
      if (bytes > 0) CORANK_RETURN_IF_ERROR(CopyElements(stream, array, first, shard.count, d_rows));
      if (result == nullptr) result = d_rows;
      return d_rows;
    };
    CORANK_ASSIGN_OR_RETURN(shard.keys, take(spec_.keys, shard.result.keys));
    if (spec_.values) {
      CORANK_ASSIGN_OR_RETURN(shard.values, take(*spec_.values, shard.result.values));
    } else if (spec_.want_indices) {
      CORANK_ASSIGN_OR_RETURN(void* const d_indices, allocate(shard.count * shape_.value_bytes));
      if (shard.count > 0) {
        CORANK_RETURN_IF_ERROR(stream.Iota(d_indices, shape_.value_bytes, first, shard.count));
      }
      shard.values = d_indices;
      if (shard.result.values == nullptr) shard.result.values = d_indices;
    }
    CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
    shards.push_back(shard);
  }
  return shards;
}

absl::Status ShardedSortOperation::Cut(Lane& lane) {
  std::vector<EngineStream*> cutters;
  for (int shard = 0; shard < (are_linked_ ? 1 : shards()); ++shard) {
    CORANK_ASSIGN_OR_RETURN(cutters.emplace_back(), SpareStream(lane, shard));
  }
  return are_linked_ ? sort_->Cut(*cutters.front()) : sort_->CutBySamples(cutters);
}

absl::Status ShardedSortOperation::Enqueue(Lane& lane, std::vector<ShardResult> results) {
  sort_.reset();
  if (result_count() == 0) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(std::vector<Shard> shards, CopyIn(std::move(results)));
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  sort_ = std::make_unique<ShardedSort>(SortOptions(), std::move(shards));
  CORANK_RETURN_IF_ERROR(sort_->SortEach());
  CORANK_RETURN_IF_ERROR(Cut(lane));
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  lane.set_next_stage(Stage::kCopyOut);
  return sort_->MergePieces();
}

absl::StatusOr<bool> ShardedSortOperation::Conclude(Outcome& outcome) const {
  outcome.sort_algorithm = ToWire(sort_ == nullptr ? SortAlgorithm::kCopy : sort_->report(0).sort_algorithm);
  return true;
}

}  // namespace corank
