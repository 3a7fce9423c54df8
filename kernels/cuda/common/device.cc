#include "kernels/cuda/common/device.h"

#include <array>
#include <atomic>

#include "kernels/cuda/common/launch.h"

namespace corank::cuda {
namespace {

constexpr int kMostDevices = 64;

cudaError_t AskForTraits(int device, DeviceTraits* traits) {
  const auto ask = [device](int* value, cudaDeviceAttr attribute) {
    return cudaDeviceGetAttribute(value, attribute, device);
  };
  CORANK_RETURN_IF_CUDA_ERROR(ask(&traits->major, cudaDevAttrComputeCapabilityMajor));
  CORANK_RETURN_IF_CUDA_ERROR(ask(&traits->minor, cudaDevAttrComputeCapabilityMinor));
  CORANK_RETURN_IF_CUDA_ERROR(ask(&traits->multiprocessors, cudaDevAttrMultiProcessorCount));
  return ask(&traits->block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

cudaError_t FindTraits(DeviceTraits* traits) {
  static std::array<std::atomic<const DeviceTraits*>, kMostDevices> known{};
  int device = 0;
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  if (device >= kMostDevices) return AskForTraits(device, traits);
  std::atomic<const DeviceTraits*>& entry = known[static_cast<size_t>(device)];
  const DeviceTraits* found = entry.load(std::memory_order_acquire);
  if (found == nullptr) {
    DeviceTraits asked;
    CORANK_RETURN_IF_CUDA_ERROR(AskForTraits(device, &asked));
    const auto* const added = new DeviceTraits(asked);  // lives until the end of the process
    if (entry.compare_exchange_strong(found, added, std::memory_order_acq_rel)) {
      found = added;
    } else {
      delete added;
    }
  }
  *traits = *found;
  return cudaSuccess;
}

}  // namespace

cudaError_t GetDeviceTraits(DeviceTraits* traits) {
  const cudaError_t error = FindTraits(traits);
  // Callers that only compute sizes continue after an error. The next launch must not take it for its own.
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

}  // namespace corank::cuda
