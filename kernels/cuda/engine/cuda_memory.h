// Device memory and pinned host memory: as sources of an Arena, and outside of requests.
#ifndef CORANK_KERNELS_CUDA_ENGINE_CUDA_MEMORY_H_
#define CORANK_KERNELS_CUDA_ENGINE_CUDA_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/engine/cuda_status.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/numa.h"

namespace corank::cuda {

/// Device memory from the device's pool, in the order of one stream. Neither call waits for the device. Each sets the
/// device, on any thread: the first call of a thread opens a context on its current device, which is the first one.
class DeviceMemory {
 public:
  DeviceMemory(int device, cudaStream_t stream) : device_(device), stream_(stream) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
    void* d_memory = nullptr;
    CORANK_RETURN_IF_CUDA_FAILED(cudaMallocAsync(&d_memory, static_cast<size_t>(bytes), stream_),
                                 "the GPU has no memory left");
    return d_memory;
  }
  // An error means a ruined context, which every other call reports too.
  void Free(void* d_memory) {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaFreeAsync(d_memory, stream_));
  }

 private:
  int device_;
  cudaStream_t stream_;
};

/// Pinned host memory, for all devices. Allocating is slow and freeing waits for the device, so the arena keeps it.
/// `device`: which each call sets, like those of DeviceMemory. `numa_node`: where the memory should be; -1: anywhere.
class PinnedMemory {
 public:
  explicit PinnedMemory(int device, int numa_node = -1) : device_(device), numa_node_(numa_node) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
    void* h_memory = nullptr;
    const PreferNumaNode here(numa_node_);
    CORANK_RETURN_IF_CUDA_FAILED(cudaHostAlloc(&h_memory, static_cast<size_t>(bytes), cudaHostAllocPortable),
                                 "the host has no memory left to pin");
    return h_memory;
  }
  void Free(void* h_memory) {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaFreeHost(h_memory));
  }

 private:
  int device_;
  int numa_node_;
};

/// Memory that an engine hands out outside of requests (kernels/engine/engine.h). Each function sets the device, on any
/// thread.
absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHostMemory(int device, int64_t bytes);
absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDeviceMemory(int device, int64_t bytes);
absl::StatusOr<std::unique_ptr<EngineMemory>> PinHostMemory(int device, void* h_bytes, int64_t bytes);
absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpcMemory(int device, absl::string_view handle, int64_t offset_bytes,
                                                            int64_t size_bytes);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_CUDA_MEMORY_H_
