#include "server/run/device_ops/sharded_column_sort.h"

#include <algorithm>
#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/sharded_operation.h"

namespace corank {

bool ShardedColumnSortOperation::Takes(const ColumnSortOperation::Spec& sort) {
  if (sort.segment_offsets || !sort.run_offsets.empty() || sort.want_ranks || sort.offset > 0) return false;
  bool any_is_sharded = IsSharded(sort.values_target) || IsSharded(sort.indices_target);
  for (const Operand* const input : ColumnSortOperation::ArraysOf(sort)) any_is_sharded |= IsSharded(*input);
  for (const ColumnSortOperation::Column& column : sort.columns) {
    any_is_sharded |= IsSharded(column.data_target) || IsSharded(column.validity_target);
  }
  if ((sort.limit == 0 || sort.rows() == 0) && !any_is_sharded) return false;
  const auto takes = [&sort, any_is_sharded](const ColumnSortOperation::Column& column) {
    return !column.offsets && CanShare(column.data, any_is_sharded) &&
           (!column.validity || CanShare(*column.validity, any_is_sharded)) &&
           (!sort.want_columns ||
            (CanShare(column.data_target) && (!column.validity || CanShare(column.validity_target))));
  };
  return std::all_of(sort.columns.begin(), sort.columns.end(), takes) &&
         (!sort.values || (CanShare(*sort.values, any_is_sharded) && CanShare(sort.values_target))) &&
         (!sort.want_indices || CanShare(sort.indices_target));
}

ShardedColumnSortOperation::ShardedColumnSortOperation(ColumnSortOperation::Spec sort, const DeviceGroup& by,
                                                       int64_t tile_bytes)
    : spec_(std::move(sort)),
      whole_(spec_),
      shape_(spec_),
      devices_(SharingDevices(by.devices)),
      options_{spec_.rows(), spec_.limit, tile_bytes, by.are_linked} {}

int64_t ShardedColumnSortOperation::device_bytes(const Engine& engine) const {
  return has_rows() ? ShardedTable(shape_, options_, devices_, /*lane=*/nullptr).device_bytes(engine) : 0;
}

int64_t ShardedColumnSortOperation::host_bytes() const {
  return has_rows() ? ShardedTable(shape_, options_, devices_, /*lane=*/nullptr).host_bytes() : 0;
}

absl::Status ShardedColumnSortOperation::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole_.results()));
  outcome.SetDevices(op(), static_cast<int>(devices_.size()));
  outcome.sort_algorithm = ToWire(SortAlgorithm::kCopy);
  if (has_rows()) CORANK_RETURN_IF_ERROR(Sort(lane, results, outcome));
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

absl::Status ShardedColumnSortOperation::Sort(Lane& lane, const std::vector<RowResult>& results,
                                              Outcome& outcome) const {
  // Results have the order of the arrays; values or indices come last.
  std::vector<ShardedTable::Place> places(shape_.arrays().size());
  const size_t first = spec_.want_columns ? 0 : shape_.key_arrays();
  for (size_t i = 0; i < results.size(); ++i) {
    const std::shared_ptr<ResultTarget>& target = whole_.results()[i].target;
    ShardedTable::Place& place = places[first + i];
    place.host = results[i].column().place;
    for (size_t shard = 0; IsSharded(target) && shard < devices_.size(); ++shard) {
      CORANK_ASSIGN_OR_RETURN(place.shards.emplace_back(), target->AllocateShard(shard));
    }
  }
  ShardedTable table(shape_, options_, devices_, &lane);
  CORANK_RETURN_IF_ERROR(RetryForThreads(table.Sort(ColumnSortOperation::ArraysOf(spec_), places)));
  table.AddTimesTo(&outcome.stats);
  outcome.sort_algorithm = ToWire(table.algorithm());
  return absl::OkStatus();
}

}  // namespace corank
