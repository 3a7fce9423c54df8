// Host code in a CUDA source, so that its users link the CUDA runtime.
#include "absl/strings/str_cat.h"
#include "bench/kernels/device_memory.h"

namespace corank::bench {

absl::Status ToStatus(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

absl::StatusOr<Memory> Memory::Create(int64_t bytes, MemoryKind kind) {
  void* pointer = nullptr;
  const size_t size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  const cudaError_t error = kind == MemoryKind::kDevice ? cudaMalloc(&pointer, size) : cudaMallocHost(&pointer, size);
  if (error != cudaSuccess) {
    cudaGetLastError();  // the next launch must not report the failed allocation again
    return ToStatus(error, absl::StrCat("allocating ", bytes, " bytes"));
  }
  Memory memory;
  if (kind == MemoryKind::kDevice) {
    memory.bytes_ = {pointer, [](void* p) { cudaFree(p); }};
  } else {
    memory.bytes_ = {pointer, [](void* p) { cudaFreeHost(p); }};
  }
  return memory;
}

absl::Status CreateAll(const std::vector<std::pair<Memory*, int64_t>>& wanted) {
  for (const auto& [memory, bytes] : wanted) {
    absl::StatusOr<Memory> created = Memory::Create(bytes);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  return absl::OkStatus();
}

}  // namespace corank::bench
