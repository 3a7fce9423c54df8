// The work of one request, cut into the phases of a stream (kernels/engine/engine.h).
#ifndef CORANK_SERVER_EXECUTE_OPERATION_H_
#define CORANK_SERVER_EXECUTE_OPERATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/engine/engine.h"
#include "server/observe/operator.h"
#include "server/respond/outcome.h"

namespace corank {

/// One operator with its validated inputs. A lane calls the phases in the order in which they are written here, each
/// once; it may stop after any of them.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual Operator op() const = 0;
  /// Uploads the inputs and allocates the results.
  virtual absl::Status CopyIn(EngineStream& stream) = 0;
  /// Runs the operator. `report` is valid once the stream finished.
  virtual absl::Status Run(EngineStream& stream, OperatorReport* report) = 0;
  /// Downloads the results.
  virtual absl::Status CopyOut(EngineStream& stream) = 0;
  /// After the stream finished without a fault: lists the results. They borrow the stream's memory.
  virtual void Collect(const OperatorReport& report, Outcome& outcome) const = 0;
  /// After the stream finished with a fault in the report: the caller's error, with its field named.
  virtual absl::Status FaultStatus(const OperatorReport& report) const = 0;
};

/// A result while it is being made.
struct PendingResult {
  ResultRole role = ResultRole::kResult;
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  ResultBuffer buffer;

  int64_t size_bytes() const { return count * element_bytes; }
  absl::Status Allocate(EngineStream& stream);
  absl::Status Download(EngineStream& stream) const;
  ResultArray Collect() const { return {role, type, element_bytes, count, buffer.host}; }
};

/// UINT32 or UINT64 (ELEMENT_TYPE_*) for an index of this many bytes.
constexpr v1::ElementType IndexType(int index_bytes) {
  return index_bytes == 4 ? v1::ELEMENT_TYPE_UINT32 : v1::ELEMENT_TYPE_UINT64;
}

/// A fault that the operator cannot have.
absl::Status UnexpectedFault(const OperatorReport& report);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_OPERATION_H_
