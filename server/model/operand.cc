#include "server/model/operand.h"

#include <algorithm>
#include <cstring>

#include "server/base/status_macros.h"

namespace corank {

absl::StatusOr<const void*> Upload(EngineStream& stream, const Operand& operand) {
  const int64_t bytes = operand.size_bytes();
  if (bytes == 0) return nullptr;
  if (operand.on_device) {
    if (operand.device == stream.device()) return operand.bytes;
    CORANK_ASSIGN_OR_RETURN(void* const near, stream.AllocateDevice(bytes));
    CORANK_RETURN_IF_ERROR(stream.Copy(near, operand.bytes, bytes));
    return near;
  }
  if (operand.is_shared) {
    CORANK_ASSIGN_OR_RETURN(void* const copy, stream.AllocateDevice(bytes));
    CORANK_RETURN_IF_ERROR(stream.CopyToDevice(copy, operand.bytes, bytes));
    return copy;
  }
  const uintptr_t lowest_set_bit = static_cast<uintptr_t>(operand.element_bytes & -operand.element_bytes);
  const uintptr_t alignment = std::min<uintptr_t>(lowest_set_bit, 16);
  if (reinterpret_cast<uintptr_t>(operand.bytes) % alignment == 0) return stream.Upload(operand.bytes, bytes);
  CORANK_ASSIGN_OR_RETURN(void* const aligned, stream.AllocateHost(bytes));
  std::memcpy(aligned, operand.bytes, static_cast<size_t>(bytes));
  return stream.Upload(aligned, bytes);
}

}  // namespace corank
