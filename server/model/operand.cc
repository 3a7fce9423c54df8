#include "server/model/operand.h"

#include <algorithm>
#include <cstring>

#include "server/base/status_macros.h"
#include "server/model/parts.h"

namespace corank {

absl::StatusOr<const void*> Upload(EngineStream& stream, const Operand& operand) {
  const int64_t bytes = operand.size_bytes();
  if (bytes == 0) return nullptr;
  if (IsSharded(operand)) {
    if (operand.shard_devices == uint64_t{1} << stream.device()) return operand.shards.front();
    CORANK_ASSIGN_OR_RETURN(void* const whole, stream.AllocateDevice(bytes));
    CORANK_RETURN_IF_ERROR(CopyElements(stream, operand, 0, operand.count, whole));
    return whole;
  }
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

absl::Status CopyElements(EngineStream& stream, const Operand& operand, int64_t first, int64_t count, void* d_to) {
  const int64_t element_bytes = operand.element_bytes;
  if (!IsSharded(operand)) {
    const auto* const from = static_cast<const char*>(operand.bytes) + first * element_bytes;
    const int64_t bytes = count * element_bytes;
    return operand.on_device ? stream.Copy(d_to, from, bytes) : stream.CopyToDevice(d_to, from, bytes);
  }
  const auto copy = [&](size_t part, int64_t from, int64_t elements, int64_t before) {
    const auto* const d_from = static_cast<const char*>(operand.shards[part]) + from * element_bytes;
    return stream.Copy(static_cast<char*>(d_to) + before * element_bytes, d_from, elements * element_bytes);
  };
  return ForEachPart(operand.count, static_cast<int64_t>(operand.shards.size()), first, count, copy);
}

}  // namespace corank
