// Sort of one array on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/sharded_sort.h"
#include "server/run/device_ops/sort.h"
#include "server/run/row_sink.h"

namespace corank {

/// Each device takes an equal part of the rows over its own bus, sorts it, exchanges pieces with the others, and
/// returns an equal part of the result (kernels/engine/sharded_sort.h).
class ShardedSortOperation final : public Operation {
 public:
  /// Whether the sort can run on several devices: its arrays and results are in host memory.
  static bool Takes(const SortOperation::Spec& sort);

  /// `devices`: two or more. The lane that runs it belongs to one of them.
  ShardedSortOperation(SortOperation::Spec sort, uint64_t devices);

  Operator op() const override { return Operator::kSort; }
  int64_t work_bytes() const override { return SortOperation(spec_).work_bytes(); }
  bool is_repeatable() const override { return true; }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  // One run of it.
  struct Run {
    std::vector<EngineStream*> streams;  // that have begun
    std::vector<Shard> shards;
    std::unique_ptr<ShardedSort> sort;  // its reports must live until the streams have finished
  };

  // Where the shard's part of `rows` rows begins.
  int64_t FirstOf(size_t shard, int64_t rows) const;
  ShardedSort::Options SortOptions() const;
  absl::Status CopyIn(Lane& lane, Run& run) const;
  absl::Status Enqueue(Lane& lane, Run& run, RowSink::Column keys, RowSink::Column values) const;

  const SortOperation::Spec spec_;
  const RowShape shape_;
  const int64_t result_count_;
  std::vector<int> devices_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_
