// An input array of a request, as lanes receive it.
#ifndef CORANK_SERVER_MODEL_OPERAND_H_
#define CORANK_SERVER_MODEL_OPERAND_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "kernels/engine/engine.h"

namespace corank {

/// A validated array. Its bytes lie in the request message, which lives until the response is sent, or in memory that
/// the owner keeps.
struct Operand {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  const void* bytes = nullptr;  // in host memory at any alignment; on a device aligned to the element
  bool on_device = false;       // kernels of this device read the bytes in place
  bool is_spilled = false;      // on_device, but in pinned host memory, because it was too large for the device
  int device = 0;               // the device's index in the server, if the bytes are on one
  bool is_shared = false;       // host memory that the caller may change at any time
  bool is_pinned = false;       // host memory that kernels can read
  bool is_snapshot = false;     // a copy of counts or offsets in pinned memory, aligned to the element
  bool is_pending = false;      // the bytes have not arrived yet: only for the first check of a request
  int stream_input = -1;        // of the job's streamed inputs, the one that brings the bytes; -1: none
  bool has_count = true;        // false: is_pending, and the caller announced no count; `count` is then 0
  std::shared_ptr<const void> owner = nullptr;
  /// Of a sharded array, which has no `bytes`: the parts' bytes on their devices, in order (model/parts.h).
  std::vector<const void*> shards = {};
  uint64_t shard_devices = 0;  // the parts' devices, in the same order, as a mask (memory/device_set.h)

  bool is_streamed() const { return stream_input >= 0; }
  int64_t size_bytes() const { return count * element_bytes; }
  /// Bytes in host memory because the operand is spilled, and bytes that are not spilled. One of them is 0.
  int64_t host_bytes() const { return is_spilled ? size_bytes() : 0; }
  int64_t device_bytes() const { return is_spilled ? 0 : size_bytes(); }
};

/// Whether an array is complete in host memory.
inline bool IsOnHost(const Operand& array) { return !array.on_device && !array.is_pending && array.stream_input < 0; }

/// Whether each device of the request has a part of the array.
inline bool IsSharded(const Operand& array) { return !array.shards.empty(); }

inline bool AnySpilled(const std::vector<Operand>& operands) {
  return std::any_of(operands.begin(), operands.end(), [](const Operand& operand) { return operand.is_spilled; });
}

/// Makes the operand readable by kernels of the stream's device, with bytes that never change. Engines need bytes at
/// the natural alignment of the element; others go through an aligned copy in the stream's host memory. The parts of a
/// sharded array are copied together.
absl::StatusOr<const void*> Upload(EngineStream& stream, const Operand& operand);

/// Enqueues copies of elements [first, first + count) of an array, wherever it lies, to memory of the stream's device.
absl::Status CopyElements(EngineStream& stream, const Operand& operand, int64_t first, int64_t count, void* d_to);

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OPERAND_H_
