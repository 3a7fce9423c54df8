// Where a result goes: an interface, so that the operators need not know the places.
#ifndef CORANK_SERVER_RESPOND_RESULT_TARGET_H_
#define CORANK_SERVER_RESPOND_RESULT_TARGET_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "kernels/engine/engine.h"

namespace corank {

/// One result of one request. The calls come in the order in which they are written here; what ends a success is left
/// out when the request fails.
class ResultTarget {
 public:
  virtual ~ResultTarget() = default;
  /// Memory for `bytes` bytes, 1 or more. Where `host` is not null, the bytes are downloaded to it before Commit.
  virtual absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) = 0;
  /// Pinned host memory where the result may be written piece by piece instead of Allocate; null where there is none.
  virtual char* HostPlace() const { return nullptr; }
  /// Whether what Allocate gives is pinned memory of the host, which kernels write where it is.
  virtual bool IsSpilled() const { return false; }
  /// Whether the result may leave some rows at a time, without Allocate.
  virtual bool TakesRowsInTurn() const { return false; }
  /// Whether the place is still what it was when the request came: asked of all results of a request before the first
  /// byte of any of them is written to where its caller sees it, and again before any is made visible. Cheap.
  virtual absl::Status Check() const { return absl::OkStatus(); }
  /// After the work has succeeded, before any result of the request is made visible: takes what Commit needs of a
  /// result for which nothing was allocated.
  virtual absl::Status Prepare() { return absl::OkStatus(); }
  /// Makes the result visible. `described`: type, record_bytes and count are set; sets
  /// the place. With an error nothing is visible.
  virtual absl::Status Commit(v1::Array* described) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RESPOND_RESULT_TARGET_H_
