// What launches ask of the device that they go to.
#ifndef CORANK_KERNELS_CUDA_COMMON_DEVICE_H_
#define CORANK_KERNELS_CUDA_COMMON_DEVICE_H_

#include <cuda_runtime_api.h>

namespace corank::cuda {

/// Of one device, for as long as the process runs.
struct DeviceTraits {
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int block_bytes = 0;  // of shared memory, most that a block may ask for
};

/// The current device's. The driver is asked once for each device: a small sort would ask it a dozen times otherwise,
/// 1.3 of the 16 us that its enqueueing took in a server. Any thread.
cudaError_t GetDeviceTraits(DeviceTraits* traits);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_DEVICE_H_
