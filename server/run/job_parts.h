// Results of a job in parts, one on each of its devices.
#ifndef CORANK_SERVER_RUN_JOB_PARTS_H_
#define CORANK_SERVER_RUN_JOB_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/status_macros.h"
#include "server/memory/device_set.h"
#include "server/model/operand.h"
#include "server/model/parts.h"
#include "server/model/result_target.h"
#include "server/run/job_memory.h"

namespace corank {

/// The memory of a result in parts.
class JobParts {
 public:
  /// `devices`: a mask. `field`: of the result. `memory` may be null if nothing is allocated.
  JobParts(uint64_t devices, int64_t count, int32_t element_bytes, std::shared_ptr<JobMemory> memory, std::string field)
      : devices_(DeviceSet::List(devices)),
        element_bytes_(element_bytes),
        memory_(std::move(memory)),
        field_(std::move(field)),
        count_(count),
        blocks_(devices_.size()) {
    array_.element_bytes = element_bytes;
    array_.on_device = true;
    array_.shard_devices = devices;
    array_.shards.resize(devices_.size());
  }

  int64_t size() const { return static_cast<int64_t>(devices_.size()); }
  /// Of the device that has most.
  int64_t device_bytes() const { return PartCount(count_, size(), 0) * element_bytes_; }
  /// Before the first part is allocated: there are fewer elements.
  void SetCount(int64_t count) { count_ = count; }
  /// The part's memory; null if it has no bytes.
  absl::StatusOr<void*> Allocate(size_t part) {
    const int64_t bytes = PartCount(count_, size(), static_cast<int64_t>(part)) * element_bytes_;
    if (bytes > 0 && blocks_[part] == nullptr) {
      CORANK_ASSIGN_OR_RETURN(blocks_[part], memory_->AllocateDeviceOn(devices_[part], bytes, field_));
      array_.shards[part] = blocks_[part]->data();
    }
    return blocks_[part] == nullptr ? nullptr : blocks_[part]->data();
  }
  /// The elements that were made. The parts have memory as long as this object lives.
  Operand Array() const {
    Operand array = array_;
    array.count = count_;
    return array;
  }
  const std::shared_ptr<StreamBlock>& block(size_t part) const { return blocks_[part]; }

 private:
  const std::vector<int> devices_;
  const int32_t element_bytes_;
  const std::shared_ptr<JobMemory> memory_;
  const std::string field_;
  int64_t count_;
  Operand array_;
  std::vector<std::shared_ptr<StreamBlock>> blocks_;
};

/// A result that the devices of a job make in parts, and that the job then brings to its place.
class PartsTarget final : public ResultTarget {
 public:
  PartsTarget(std::shared_ptr<ResultTarget> place, JobParts parts)
      : place_(std::move(place)), parts_(std::move(parts)) {}

  const std::shared_ptr<ResultTarget>& place() const { return place_; }
  const JobParts& parts() const { return parts_; }
  /// One device makes the result, in its place.
  void MakeWhole() { is_whole_ = true; }

  bool is_sharded() const override { return !is_whole_; }
  absl::StatusOr<void*> AllocateShard(size_t shard) override { return parts_.Allocate(shard); }
  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    return place_->Allocate(stream, bytes);
  }
  absl::Status Check() const override { return place_->Check(); }
  absl::Status Commit(v1::Array*) override { return absl::InternalError("the result was not brought to its place"); }

 private:
  const std::shared_ptr<ResultTarget> place_;
  JobParts parts_;
  bool is_whole_ = false;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_JOB_PARTS_H_
