// What a server keeps between calls: regions of shared memory, and arrays.
#ifndef CORANK_CLIENT_CPP_MEMORY_H_
#define CORANK_CLIENT_CPP_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cpp/element.h"

namespace corank::client {

enum class RegionKind : uint8_t { kUnknown, kSharedMemory, kCudaIpc };

/// A registered region.
struct RegionInfo {
  std::string name;
  RegionKind kind = RegionKind::kUnknown;
  int64_t size_bytes = 0;
};

/// An array that the server keeps.
struct StoredArray {
  std::string name;
  ElementType type = KeyType::kUint8;
  int64_t count = 0;
  absl::Duration expires_in;  // unless it is used

  /// As an input of a request.
  ArrayView view() const { return {type, {}, name, count, false}; }
};

/// The caller's kept arrays, ordered by name.
struct StoredArrays {
  std::vector<StoredArray> arrays;
  int64_t used_bytes = 0;
  int64_t quota_bytes = 0;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_MEMORY_H_
