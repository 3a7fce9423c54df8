#include "kernels/cuda/engine/cuda_memory.h"

#include <cuda.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace corank::cuda {
namespace {

// An error while freeing means a ruined context, which every other call reports too.

class PinnedBlock final : public EngineMemory {
 public:
  PinnedBlock(int device, void* data, int64_t bytes) : EngineMemory(data, bytes), device_(device) {}
  ~PinnedBlock() override { PinnedMemory(device_).Free(data()); }

 private:
  const int device_;
};

// Memory from the device's pool, like that of requests. Allocating from the system and freeing takes milliseconds and
// waits for the device. All work that used a block has ended when it is freed, so any stream may free it.
class DeviceBlock final : public EngineMemory {
 public:
  DeviceBlock(int device, void* data, int64_t bytes) : EngineMemory(data, bytes), device_(device) {}
  ~DeviceBlock() override {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaFreeAsync(data(), cudaStreamPerThread));
  }

 private:
  const int device_;
};

class RegisteredBlock final : public EngineMemory {
 public:
  RegisteredBlock(int device, void* data, int64_t bytes) : EngineMemory(data, bytes), device_(device) {}
  ~RegisteredBlock() override {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaHostUnregister(data()));
  }

 private:
  const int device_;
};

class IpcBlock final : public EngineMemory {
 public:
  IpcBlock(int device, void* base, int64_t offset, int64_t bytes)
      : EngineMemory(static_cast<char*>(base) + offset, bytes), device_(device), base_(base) {}
  ~IpcBlock() override {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaIpcCloseMemHandle(base_));
  }

 private:
  const int device_;
  void* const base_;
};

// Looks up cuMemGetAddressRange at run time, because the binary must start without a driver.
absl::StatusOr<int64_t> AllocationBytes(void* d_base) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CORANK_RETURN_IF_CUDA_FAILED(
      cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &found),
      "find cuMemGetAddressRange");
  if (found != cudaDriverEntryPointSuccess) return absl::InternalError("the driver has no cuMemGetAddressRange");
  CUdeviceptr start = 0;
  size_t bytes = 0;
  const auto get_range = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t*, CUdeviceptr)>(function);
  if (get_range(&start, &bytes, reinterpret_cast<CUdeviceptr>(d_base)) != CUDA_SUCCESS) {
    return absl::InternalError("the driver does not know the size of memory that it opened");
  }
  return static_cast<int64_t>(start + bytes - reinterpret_cast<CUdeviceptr>(d_base));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHostMemory(int device, int64_t bytes) {
  const absl::StatusOr<void*> h_memory = PinnedMemory(device).Allocate(bytes);
  if (!h_memory.ok()) return h_memory.status();
  return std::make_unique<PinnedBlock>(device, *h_memory, bytes);
}

absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDeviceMemory(int device, int64_t bytes) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  void* d_memory = nullptr;
  CORANK_RETURN_IF_CUDA_FAILED(cudaMallocAsync(&d_memory, static_cast<size_t>(bytes), cudaStreamPerThread),
                               "the GPU has no memory left");
  auto memory = std::make_unique<DeviceBlock>(device, d_memory, bytes);
  CORANK_RETURN_IF_CUDA_FAILED(cudaStreamSynchronize(cudaStreamPerThread), "allocate");
  return memory;
}

absl::StatusOr<std::unique_ptr<EngineMemory>> PinHostMemory(int device, void* h_bytes, int64_t bytes) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  CORANK_RETURN_IF_CUDA_FAILED(cudaHostRegister(h_bytes, static_cast<size_t>(bytes), cudaHostRegisterPortable),
                               "pin host memory");
  return std::make_unique<RegisteredBlock>(device, h_bytes, bytes);
}

absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpcMemory(int device, absl::string_view handle, int64_t offset_bytes,
                                                            int64_t size_bytes) {
  cudaIpcMemHandle_t ipc_handle;
  if (handle.size() != sizeof(ipc_handle)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a CUDA IPC handle has ", sizeof(ipc_handle), " bytes, not ", handle.size()));
  }
  std::memcpy(&ipc_handle, handle.data(), sizeof(ipc_handle));
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  void* d_base = nullptr;
  const cudaError_t opened = cudaIpcOpenMemHandle(&d_base, ipc_handle, cudaIpcMemLazyEnablePeerAccess);
  if (opened != cudaSuccess) {
    const absl::Status status = ToStatus(opened, "open a CUDA IPC handle");
    if (absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) return status;
    return absl::NotFoundError(
        absl::StrCat("no memory of another process has this CUDA IPC handle here (", cudaGetErrorString(opened), ")"));
  }
  auto memory = std::make_unique<IpcBlock>(device, d_base, offset_bytes, size_bytes);
  const absl::StatusOr<int64_t> allocation = AllocationBytes(d_base);
  if (!allocation.ok()) return allocation.status();
  if (offset_bytes > *allocation || size_bytes > *allocation - offset_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the allocation has ", *allocation, " bytes, fewer than offset ",
                                                   offset_bytes, " and size ", size_bytes, " need"));
  }
  return memory;
}

}  // namespace corank::cuda
