// What a server keeps between calls: regions of shared memory, and stored arrays.
#ifndef CORANK_MEMORY_H_
#define CORANK_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "corank/element.h"

namespace corank::client {

/// The kind of memory behind a region.
enum class RegionKind : uint8_t {
  kUnknown,       // a kind that this version of the client does not know
  kSharedMemory,  // POSIX shared memory
  kCudaIpc,       // GPU memory that another process shared by CUDA IPC
};

/// A registered region.
struct RegionInfo {
  std::string name;
  RegionKind kind = RegionKind::kUnknown;
  int64_t size_bytes = 0;
};

/// An array that the server stores.
struct StoredArray {
  std::string name;
  ElementType type = KeyType::kUint8;
  int64_t count = 0;
  /// The server deletes the array after this time, unless a call uses it before.
  absl::Duration expires_in;
  /// Parts of an array that is divided among GPUs, one on each; 0: it is not divided.
  int shards = 0;

  /// The array as an input of a request. Its bytes stay on the server.
  ArrayView view() const { return {type, {}, name, count, false}; }
};

/// The caller's stored arrays, ordered by name.
struct StoredArrays {
  std::vector<StoredArray> arrays;
  /// Bytes that the arrays take, and the most that they may take.
  int64_t used_bytes = 0;
  int64_t quota_bytes = 0;
};

}  // namespace corank::client

#endif  // CORANK_MEMORY_H_
