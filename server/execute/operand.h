// An input array of a request, as the lanes take it.
#ifndef CORANK_SERVER_EXECUTE_OPERAND_H_
#define CORANK_SERVER_EXECUTE_OPERAND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "kernels/engine/engine.h"

namespace corank {

/// A validated array. Borrows its bytes from the request message, which lives until the response is out.
struct Operand {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  const void* bytes = nullptr;  // at any alignment

  int64_t size_bytes() const { return count * element_bytes; }
};

/// Makes the operand readable by kernels. Engines want bytes at the natural alignment of the element; what lies
/// otherwise goes through an aligned copy in the stream's host memory.
absl::StatusOr<const void*> Upload(EngineStream& stream, const Operand& operand);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_OPERAND_H_
