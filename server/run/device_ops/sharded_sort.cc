#include "server/run/device_ops/sharded_sort.h"

#include <algorithm>
#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/memory/device_set.h"
#include "server/run/run_sort.h"

namespace corank {
namespace {

bool IsOnHost(const Operand& array) { return !array.on_device && !array.is_pending && array.stream_input < 0; }

// Waits for all streams. The first error counts, and of the times, which overlap, the longest.
absl::Status FinishAll(const std::vector<EngineStream*>& streams, absl::Status status, v1::RequestStats* stats) {
  PhaseTimes longest;
  int64_t workspace_bytes = 0;
  for (EngineStream* const stream : streams) {
    const absl::StatusOr<PhaseTimes> times = stream->Finish();
    status.Update(times.status());
    if (!times.ok()) continue;
    longest.copy_in_ns = std::max(longest.copy_in_ns, times->copy_in_ns);
    longest.kernel_ns = std::max(longest.kernel_ns, times->kernel_ns);
    longest.copy_out_ns = std::max(longest.copy_out_ns, times->copy_out_ns);
    workspace_bytes = std::max(workspace_bytes, stream->workspace_bytes());
  }
  if (status.ok()) AddTimes(longest, workspace_bytes, stats);
  return status;
}

}  // namespace

bool ShardedSortOperation::Takes(const SortOperation::Spec& sort) {
  return !sort.segment_offsets && sort.limit != 0 && IsOnHost(sort.keys) &&
         (!sort.want_keys || RowResult::CanHold(sort.keys_target)) &&
         (!sort.want_indices || RowResult::CanHold(sort.indices_target)) &&
         (!sort.values || (IsOnHost(*sort.values) && RowResult::CanHold(sort.values_target)));
}

ShardedSortOperation::ShardedSortOperation(SortOperation::Spec sort, uint64_t devices)
    : spec_(std::move(sort)),
      shape_(RunSorter::ShapeOf(spec_)),
      result_count_(SortOperation(spec_).results().front().count) {
  for (int i = 0; i < DeviceSet::kMaxDevices && devices_.size() < size_t{ShardedSort::kMaxShards}; ++i) {
    if ((devices & DeviceSet::Only(i)) != 0) devices_.push_back(i);
  }
}

int64_t ShardedSortOperation::FirstOf(size_t shard, int64_t rows) const {
  const auto shards = static_cast<int64_t>(devices_.size()), index = static_cast<int64_t>(shard);
  return rows / shards * index + std::min(index, rows % shards);
}

int64_t ShardedSortOperation::device_bytes(const Engine& engine) const {
  const int64_t most = FirstOf(1, spec_.keys.count);
  return most * shape_.row_bytes() + ShardedSort::WorkspaceBytes(SortOptions(), most, FirstOf(1, result_count_),
                                                                 static_cast<int>(devices_.size()), engine);
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

absl::Status ShardedSortOperation::CopyIn(Lane& lane, Run& run) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    Shard shard;
    for (const int number : {0, 1}) {
      CORANK_ASSIGN_OR_RETURN(EngineStream* const made, lane.StreamOn(devices_[i], number));
      CORANK_RETURN_IF_ERROR(made->Begin());
      run.streams.push_back(made);
      (number == 0 ? shard.stream : shard.puller) = made;
    }
    EngineStream* const stream = shard.stream;
    const int64_t first = FirstOf(i, spec_.keys.count);
    shard.count = FirstOf(i + 1, spec_.keys.count) - first;
    shard.result_count = FirstOf(i + 1, result_count_) - FirstOf(i, result_count_);
    const auto copy = [&](const Operand& array) -> absl::StatusOr<void*> {
      const int64_t bytes = shard.count * array.element_bytes;
      CORANK_ASSIGN_OR_RETURN(void* const d_rows, stream->AllocateDevice(bytes));
      const auto* const h_rows = static_cast<const char*>(array.bytes) + first * array.element_bytes;
      CORANK_RETURN_IF_ERROR(stream->CopyToDevice(d_rows, h_rows, bytes));
      return d_rows;
    };
    CORANK_ASSIGN_OR_RETURN(shard.keys_out, copy(spec_.keys));
    if (spec_.values) {
      CORANK_ASSIGN_OR_RETURN(shard.values_out, copy(*spec_.values));
    } else if (spec_.want_indices) {
      CORANK_ASSIGN_OR_RETURN(shard.values_out, stream->AllocateDevice(shard.count * shape_.value_bytes));
      CORANK_RETURN_IF_ERROR(stream->Iota(shard.values_out, shape_.value_bytes, first, shard.count));
    }
    shard.keys_in = shard.keys_out;
    shard.values_in = shard.values_out;
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    run.shards.push_back(shard);
  }
  return absl::OkStatus();
}

absl::Status ShardedSortOperation::Enqueue(Lane& lane, Run& run, RowSink::Column keys, RowSink::Column values) const {
  CORANK_RETURN_IF_ERROR(CopyIn(lane, run));
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  run.sort = std::make_unique<ShardedSort>(SortOptions(), run.shards);
  CORANK_RETURN_IF_ERROR(run.sort->SortEach());
  CORANK_ASSIGN_OR_RETURN(EngineStream* const cutter, lane.StreamOn(devices_.front(), 2));
  CORANK_RETURN_IF_ERROR(run.sort->Cut(*cutter));
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(run.sort->MergePieces());
  lane.set_next_stage(Stage::kCopyOut);
  for (size_t i = 0; i < run.shards.size(); ++i) {
    const Shard& shard = run.shards[i];
    CORANK_RETURN_IF_ERROR(shard.stream->EndKernels());
    const auto copy = [&](char* h_rows, const void* d_rows, int64_t bytes) {
      return h_rows == nullptr ? absl::OkStatus()
                               : shard.stream->CopyToHost(h_rows + FirstOf(i, result_count_) * bytes, d_rows,
                                                          shard.result_count * bytes);
    };
    CORANK_RETURN_IF_ERROR(copy(keys.place, shard.keys_out, shape_.key_bytes));
    CORANK_RETURN_IF_ERROR(copy(values.place, shard.values_out, shape_.value_bytes));
  }
  return absl::OkStatus();
}

absl::Status ShardedSortOperation::Execute(Lane& lane, Outcome& outcome) {
  const SortOperation results_of(spec_);
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(results_of.results()));
  Run run;
  const absl::Status enqueued = Enqueue(lane, run, spec_.want_keys ? results.front().column() : RowSink::Column(),
                                        shape_.value_bytes > 0 ? results.back().column() : RowSink::Column());
  CORANK_RETURN_IF_ERROR(FinishAll(run.streams, enqueued, &outcome.stats));
  outcome.stats.set_devices(static_cast<int32_t>(devices_.size()));
  outcome.sort_algorithm = ToWire(run.sort->report(0).sort_algorithm);
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
