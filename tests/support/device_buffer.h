// Device memory for tests of kernels: owned, guarded, and placed at any alignment.
#ifndef CORANK_TESTS_SUPPORT_DEVICE_BUFFER_H_
#define CORANK_TESTS_SUPPORT_DEVICE_BUFFER_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/guard_zone.h"
#include "tests/support/real_keys.h"

/// The first line of a test that launches kernels.
#define CORANK_SKIP_WITHOUT_GPU()                              \
  if (!::corank::testing::HasGpu()) {                          \
    GTEST_SKIP() << "no NVIDIA GPU or driver on this machine"; \
  }                                                            \
  static_assert(true, "a semicolon follows")

namespace corank::testing {

inline bool HasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// Copies bytes to the device and waits until they have arrived. cudaMemcpy from pageable memory returns while its last
/// piece is still in flight, and streams that do not block with the default stream would not wait for it.
inline bool CopyToDevice(void* d_to, const void* h_from, size_t bytes) {
  return cudaMemcpy(d_to, h_from, bytes, cudaMemcpyHostToDevice) == cudaSuccess &&
         cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess;
}

/// Bytes in device memory between two guard zones, `shift` bytes after a 256-byte boundary.
class DeviceBuffer {
 public:
  /// Holds a copy of `payload`.
  explicit DeviceBuffer(const Bytes& payload, int64_t shift = 0)
      : DeviceBuffer(static_cast<int64_t>(payload.size()), shift) {
    if (!payload.empty()) {
      EXPECT_TRUE(CopyToDevice(data(), payload.data(), payload.size()));
    }
  }
  /// Holds a pattern.
  explicit DeviceBuffer(int64_t bytes, int64_t shift = 0) : bytes_(bytes), shift_(shift) {
    const Bytes image = GuardedImage(bytes);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&d_base_), image.size() + static_cast<size_t>(shift)), cudaSuccess);
    EXPECT_TRUE(CopyToDevice(d_base_ + shift_, image.data(), image.size()));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& other) noexcept : d_base_(other.d_base_), bytes_(other.bytes_), shift_(other.shift_) {
    other.d_base_ = nullptr;
  }
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(d_base_); }

  void* data() const { return d_base_ + shift_ + kGuardBytes; }
  int64_t bytes() const { return bytes_; }

  /// The payload. A damaged guard is a test failure.
  Bytes Download() const {
    Bytes image(static_cast<size_t>(bytes_ + 2 * kGuardBytes));
    EXPECT_EQ(cudaMemcpy(image.data(), d_base_ + shift_, image.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_TRUE(GuardsAreIntact(image.data(), bytes_)) << "a kernel wrote outside its array";
    return Bytes(image.begin() + kGuardBytes, image.begin() + kGuardBytes + bytes_);
  }

 private:
  uint8_t* d_base_ = nullptr;
  int64_t bytes_;
  int64_t shift_;
};

/// The bytes of an array of numbers, and back.
template <typename T>
Bytes ToBytes(const std::vector<T>& numbers) {
  Bytes bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> FromBytes(const Bytes& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_DEVICE_BUFFER_H_
