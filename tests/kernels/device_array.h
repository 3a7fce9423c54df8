// Typed arrays on the device for tests of the typed operators.
#ifndef CORANK_TESTS_KERNELS_DEVICE_ARRAY_H_
#define CORANK_TESTS_KERNELS_DEVICE_ARRAY_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "corank/span.h"
#include "tests/support/device_buffer.h"

namespace corank::testing {

/// An array between guard zones.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& elements) : buffer_(ToBytes(elements)) {}
  /// Holds a pattern.
  explicit DeviceArray(int64_t count) : buffer_(count * static_cast<int64_t>(sizeof(T))) {}

  Span<T> span() const { return {static_cast<T*>(buffer_.data()), buffer_.bytes() / static_cast<int64_t>(sizeof(T))}; }
  Span<const T> view() const { return span(); }
  /// Waits for the device. A damaged guard is a test failure.
  std::vector<T> Read() const {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return FromBytes<T>(buffer_.Download());
  }

 private:
  DeviceBuffer buffer_;
};

/// A stream that does not wait for the default stream.
class TestStream {
 public:
  TestStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_KERNELS_DEVICE_ARRAY_H_
