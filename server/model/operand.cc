#include "server/model/operand.h"

#include <algorithm>
#include <cstring>

namespace corank {

absl::StatusOr<const void*> Upload(EngineStream& stream, const Operand& operand) {
  const int64_t bytes = operand.size_bytes();
  if (bytes == 0) return nullptr;
  if (operand.on_device) {
    if (operand.device == stream.device()) return operand.bytes;
    absl::StatusOr<void*> near = stream.AllocateDevice(bytes);
    if (!near.ok()) return near.status();
    if (absl::Status status = stream.Copy(*near, operand.bytes, bytes); !status.ok()) return status;
    return *near;
  }
  if (operand.is_shared) {
    absl::StatusOr<void*> copy = stream.AllocateDevice(bytes);
    if (!copy.ok()) return copy.status();
    if (absl::Status status = stream.CopyToDevice(*copy, operand.bytes, bytes); !status.ok()) return status;
    return *copy;
  }
  const uintptr_t lowest_set_bit = static_cast<uintptr_t>(operand.element_bytes & -operand.element_bytes);
  const uintptr_t alignment = std::min<uintptr_t>(lowest_set_bit, 16);
  if (reinterpret_cast<uintptr_t>(operand.bytes) % alignment == 0) return stream.Upload(operand.bytes, bytes);
  absl::StatusOr<void*> aligned = stream.AllocateHost(bytes);
  if (!aligned.ok()) return aligned.status();
  std::memcpy(*aligned, operand.bytes, static_cast<size_t>(bytes));
  return stream.Upload(*aligned, bytes);
}

}  // namespace corank
