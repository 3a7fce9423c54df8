// The destination of a result: an interface, so that operators need not know the places.
#ifndef CORANK_SERVER_MODEL_RESULT_TARGET_H_
#define CORANK_SERVER_MODEL_RESULT_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "kernels/engine/engine.h"

namespace corank {

/// One result of one request. The calls follow the order of the declarations; a failed request skips the ones that
/// complete a success.
class ResultTarget {
 public:
  virtual ~ResultTarget() = default;
  /// Memory for `bytes` bytes, 1 or more. If `host` is not null, the bytes are downloaded to it before Commit.
  virtual absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) = 0;
  /// Pinned host memory if the result may be written there in pieces instead of Allocate; else null.
  virtual char* HostPlace() const { return nullptr; }
  /// Whether the result lies in parts (model/parts.h), in the memory of AllocateShard instead of Allocate's. Each of
  /// the devices that share the work makes one, or the only device copies them there.
  virtual bool is_sharded() const { return false; }
  /// Before the first AllocateShard of a result that one device makes: its final number of elements. Returns the number
  /// of parts.
  virtual absl::StatusOr<int64_t> Divide(int64_t count) {
    static_cast<void>(count);
    return absl::InternalError("the result is not sharded");
  }
  /// Memory of the device for part `shard`, null if it has no bytes. It is aligned for every element type.
  virtual absl::StatusOr<void*> AllocateShard(size_t shard) {
    static_cast<void>(shard);
    return absl::InternalError("the result is not sharded");
  }
  /// Whether Allocate returns pinned host memory, which kernels write in place.
  virtual bool IsSpilled() const { return false; }
  /// Set if the result goes to a stream. It may then be sent some rows at a time, without Allocate.
  virtual std::optional<uint32_t> stream_id() const { return std::nullopt; }
  /// Whether the result goes into the response.
  virtual bool is_response() const { return false; }
  /// Whether the place is still as it was when the request arrived. Checked for all results of a request before any
  /// byte is written where the caller can see it, and again before any result is published. Cheap.
  virtual absl::Status Check() const { return absl::OkStatus(); }
  /// After the work has succeeded and before any result of the request is published: prepares Commit for a result that
  /// allocated nothing.
  virtual absl::Status Prepare() { return absl::OkStatus(); }
  /// Publishes the result. `described`: type, record_bytes and count are set; sets the place. On an error nothing is
  /// published.
  virtual absl::Status Commit(v1::Array* described) = 0;
};

inline bool TakesRows(const std::shared_ptr<ResultTarget>& target) {
  return target != nullptr && target->stream_id().has_value();
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_RESULT_TARGET_H_
