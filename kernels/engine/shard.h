// One array in parts, the shards, on several devices.
#ifndef CORANK_KERNELS_ENGINE_SHARD_H_
#define CORANK_KERNELS_ENGINE_SHARD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/engine/engine.h"

namespace corank {

/// A device's part of a result.
struct ShardResult {
  /// Streams of the device, which the caller begins and finishes: one orders the rows, one copies rows in, and one
  /// copies finished rows to `h_keys` and `h_values`. Without the last, the part stays on the device.
  EngineStream* stream = nullptr;
  EngineStream* puller = nullptr;
  EngineStream* sender = nullptr;
  /// Rows, which continue the part of the shard before. The parts together are the result.
  int64_t count = 0;
  void* keys = nullptr;  // memory of the device for the part
  void* values = nullptr;
  char* h_keys = nullptr;  // host memory for the part; null: not wanted
  char* h_values = nullptr;
};

/// The rows of one device.
struct Shard {
  int64_t count = 0;
  const void* keys = nullptr;  // memory of the device
  const void* values = nullptr;
  /// Its part of the result, which may take the memory of the rows.
  ShardResult result;
};

/// Memory of the stream's device; null for 0 bytes.
absl::Status AllocateDevice(EngineStream& stream, int64_t bytes, char** to);

/// Enqueues copies of rows [first, first + count) of a part to host memory, if it has a sender. `are_there`: a point
/// after which they are there. `ends_kernels`: the sender's phase of kernels ends then.
absl::Status SendRows(const ShardResult& part, int64_t key_bytes, int64_t value_bytes, int64_t first, int64_t count,
                      const void* are_there, bool ends_kernels);

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARD_H_
