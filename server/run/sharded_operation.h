// Work that several devices share.
#ifndef CORANK_SERVER_RUN_SHARDED_OPERATION_H_
#define CORANK_SERVER_RUN_SHARDED_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/part_moves.h"
#include "kernels/engine/sharded_merge.h"
#include "server/run/operation.h"
#include "server/run/row_sink.h"

namespace corank {

/// Whether each device of the request makes a part of the result, which stays there.
inline bool IsSharded(const std::shared_ptr<ResultTarget>& target) { return target != nullptr && target->is_sharded(); }

/// Whether each device can take its part of the array, or make its part of the result. Arrays on one device are divided
/// only beside sharded ones: that device alone needs less time than the copies.
inline bool CanShare(const Operand& array, bool any_is_sharded) {
  return IsSharded(array) || IsOnHost(array) || (any_is_sharded && array.on_device && !array.is_spilled);
}
inline bool CanShare(const std::shared_ptr<ResultTarget>& target) {
  return RowResult::CanHold(target) || IsSharded(target);
}

/// Whether each device can take its part of all arrays, and make its part of all results.
bool CanShare(const KernelOperation& whole);
/// Whether any of the arrays or of the results is sharded.
bool AnySharded(const KernelOperation& whole);

/// Part `part` of an array, in the memory of the stream's device. It is copied there unless the array is sharded.
absl::StatusOr<const void*> TakePart(EngineStream& stream, const Operand& array, int64_t parts, int64_t part);

/// The parts of a sharded array.
std::vector<PartMoves::Part> PartsOf(const Operand& array);

/// Tells the caller to try again later if OnEachShard found too few threads. The streams judge their own errors.
absl::Status RetryForThreads(const absl::Status& status);

/// The devices of a mask that share work, in order: the first ShardedMerge::kMaxShards.
std::vector<int> SharingDevices(uint64_t devices);

/// Each device makes an equal part of the result's rows, over its own bus (kernels/engine/sharded_merge.h).
class ShardedOperation : public Operation {
 public:
  Operator op() const final { return whole_->op(); }
  int64_t work_bytes() const final { return whole_->work_bytes(); }
  bool is_repeatable() const final { return !whole_->OverwritesInputs(); }
  absl::Status Execute(Lane& lane, Outcome& outcome) final;

 protected:
  /// `whole`: the same work on one device. Its results are sharded, or rows that RowResult::CanHold. `devices`: one or
  /// more; the lane that runs the work belongs to one of them.
  ShardedOperation(std::unique_ptr<PhasedOperation> whole, uint64_t devices);

  /// Enqueues the work. The streams of the parts have begun; `results` have device memory only where they are sharded.
  virtual absl::Status Enqueue(Lane& lane, std::vector<ShardResult> results) = 0;
  /// After the streams have finished: adds what the work found. Returns false if one device must do it instead, or the
  /// caller's error.
  virtual absl::StatusOr<bool> Conclude(Outcome& outcome) const = 0;

  int shards() const { return static_cast<int>(devices_.size()); }
  int64_t result_count() const { return whole_->results().front().count; }
  /// Where the shard's part of `rows` rows begins. The first part is a largest one.
  int64_t FirstOf(size_t shard, int64_t rows) const;
  /// A stream of the shard's device beside those of the parts.
  absl::StatusOr<EngineStream*> SpareStream(Lane& lane, int shard = 0) const;

 private:
  absl::Status Begin(Lane& lane, const std::vector<RowResult>& rows, std::vector<EngineStream*>& begun,
                     std::vector<ShardResult>& results) const;

  const std::unique_ptr<PhasedOperation> whole_;
  const std::vector<int> devices_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARDED_OPERATION_H_
