// A result that is sent in chunks.
#ifndef CORANK_SERVER_RUN_STREAM_TARGET_H_
#define CORANK_SERVER_RUN_STREAM_TARGET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/base/status_macros.h"
#include "server/model/result_target.h"
#include "server/run/job_memory.h"

namespace corank {

/// Memory of the job for the complete result, which is then sent: on the device, or, if spilled, on the host.
class StreamTarget final : public ResultTarget {
 public:
  /// `field`: of the destination. `memory` is null if the result never lies in one piece; then only Commit is called.
  StreamTarget(uint32_t stream_id, std::string field, std::shared_ptr<JobMemory> memory, bool is_spilled = false)
      : stream_id_(stream_id), field_(std::move(field)), memory_(std::move(memory)), is_spilled_(is_spilled) {}

  const std::string& field() const { return field_; }
  /// Null: no bytes.
  const std::shared_ptr<StreamBlock>& block() const { return block_; }

  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t bytes) override {
    CORANK_ASSIGN_OR_RETURN(
        block_, is_spilled_ ? memory_->AllocateHost(bytes, field_) : memory_->AllocateDevice(bytes, field_));
    return ResultBuffer{block_->data(), nullptr};
  }
  bool IsSpilled() const override { return is_spilled_; }
  std::optional<uint32_t> stream_id() const override { return stream_id_; }
  absl::Status Commit(v1::Array* described) override {
    described->mutable_stream()->set_stream_id(stream_id_);
    return absl::OkStatus();
  }

 private:
  const uint32_t stream_id_;
  const std::string field_;
  const std::shared_ptr<JobMemory> memory_;
  const bool is_spilled_;
  std::shared_ptr<StreamBlock> block_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_STREAM_TARGET_H_
