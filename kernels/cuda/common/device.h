// The properties of a device that launches depend on.
#ifndef CORANK_KERNELS_CUDA_COMMON_DEVICE_H_
#define CORANK_KERNELS_CUDA_COMMON_DEVICE_H_

#include <cuda_runtime_api.h>

namespace corank::cuda {

/// The properties of one device, constant while the process runs.
struct DeviceTraits {
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int block_bytes = 0;  // shared memory, most that a block may request
};

/// Returns the traits of the current device. Queries the driver once for each device: a small sort would otherwise
/// query it a dozen times, which took 1.3 of the 16 us of its enqueueing in a server. Any thread may call it.
cudaError_t GetDeviceTraits(DeviceTraits* traits);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_DEVICE_H_
