// Work that several devices share.
#ifndef CORANK_SERVER_RUN_SHARDED_OPERATION_H_
#define CORANK_SERVER_RUN_SHARDED_OPERATION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/sharded_merge.h"
#include "server/run/operation.h"
#include "server/run/row_sink.h"

namespace corank {

/// Whether an array is complete in host memory.
inline bool IsOnHost(const Operand& array) { return !array.on_device && !array.is_pending && array.stream_input < 0; }

/// Each device makes an equal part of the result's rows, over its own bus (kernels/engine/sharded_merge.h).
class ShardedOperation : public Operation {
 public:
  Operator op() const final { return whole_->op(); }
  int64_t work_bytes() const final { return whole_->work_bytes(); }
  bool is_repeatable() const final { return true; }
  absl::Status Execute(Lane& lane, Outcome& outcome) final;

 protected:
  /// `whole`: the same work on one device. Its results are rows that RowResult::CanHold. `devices`: two or more; the
  /// lane that runs the work belongs to one of them.
  ShardedOperation(std::unique_ptr<PhasedOperation> whole, uint64_t devices);

  /// Enqueues the work. The streams of the parts have begun; `results` have no device memory yet.
  virtual absl::Status Enqueue(Lane& lane, std::vector<ShardResult> results) = 0;
  /// After the streams have finished: adds what the work found. Returns false if one device must do it instead.
  virtual bool Conclude(Outcome& outcome) const = 0;

  int shards() const { return static_cast<int>(devices_.size()); }
  int64_t result_count() const { return whole_->results().front().count; }
  /// Where the shard's part of `rows` rows begins. The first part is a largest one.
  int64_t FirstOf(size_t shard, int64_t rows) const;
  /// A stream beside those of the parts.
  absl::StatusOr<EngineStream*> SpareStream(Lane& lane) const;

 private:
  absl::Status Begin(Lane& lane, const std::vector<RowResult>& rows, std::vector<EngineStream*>& begun,
                     std::vector<ShardResult>& results) const;

  const std::unique_ptr<PhasedOperation> whole_;
  std::vector<int> devices_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARDED_OPERATION_H_
