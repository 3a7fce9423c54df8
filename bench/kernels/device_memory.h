// Owned memory for benchmarks that use a GPU.
#ifndef CORANK_BENCH_KERNELS_DEVICE_MEMORY_H_
#define CORANK_BENCH_KERNELS_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace corank::bench {

/// Kinds of memory: device memory, and pinned host memory for copies.
enum class MemoryKind { kDevice, kPinnedHost };

/// Owns memory. Movable, not copyable.
class Memory {
 public:
  static absl::StatusOr<Memory> Create(int64_t bytes, MemoryKind kind = MemoryKind::kDevice);
  Memory() = default;

  template <typename T>
  T* as() const {
    return static_cast<T*>(bytes_.get());
  }
  void* get() const { return bytes_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> bytes_{nullptr, [](void*) {}};
};

/// Creates device memory of these sizes in bytes.
absl::Status CreateAll(const std::vector<std::pair<Memory*, int64_t>>& wanted);

/// `error` as a status; `what` names the call.
absl::Status ToStatus(cudaError_t error, const std::string& what);

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_DEVICE_MEMORY_H_
