// Device memory for tests of many gigabytes, filled by repeating a period and read from front to back.
#ifndef CORANK_TESTS_SUPPORT_LARGE_DEVICE_H_
#define CORANK_TESTS_SUPPORT_LARGE_DEVICE_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "tests/support/device_buffer.h"
#include "tests/support/large_keys.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct FreePinned {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;
using PinnedMemory = std::unique_ptr<void, FreePinned>;

inline DeviceMemory OnDevice(int64_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, static_cast<size_t>(bytes)), cudaSuccess);
  return DeviceMemory(memory);
}
/// Host memory that kernels can write too.
inline PinnedMemory Pinned(int64_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMallocHost(&memory, static_cast<size_t>(bytes)), cudaSuccess);
  return PinnedMemory(memory);
}

/// The first line of a test that allocates `bytes` of device memory.
#define CORANK_SKIP_WITHOUT_GPU_MEMORY(bytes)                                               \
  if (!::corank::testing::HasFreeGpuMemory(bytes)) {                                        \
    GTEST_SKIP() << "no NVIDIA GPU with " << ((bytes) >> 30) << " GiB of free memory left"; \
  }                                                                                         \
  static_assert(true, "a semicolon follows")

inline bool HasFreeGpuMemory(int64_t bytes) {
  constexpr int64_t kSpare = int64_t{1} << 30;
  size_t free_bytes = 0, total_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess && bytes + kSpare <= static_cast<int64_t>(free_bytes);
}

/// Fills `bytes` bytes by repeating the period.
inline void FillDevice(const Bytes& period, void* d_array, int64_t bytes) {
  int64_t filled = std::min(bytes, static_cast<int64_t>(period.size()));
  EXPECT_TRUE(CopyToDevice(d_array, period.data(), static_cast<size_t>(filled)));
  for (int64_t copied = 0; filled < bytes; filled += copied) {
    copied = std::min(filled, bytes - filled);
    EXPECT_EQ(cudaMemcpy(static_cast<char*>(d_array) + filled, d_array, static_cast<size_t>(copied),
                         cudaMemcpyDeviceToDevice),
              cudaSuccess);
  }
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);  // other streams do not wait for these copies
}

/// Reads an array on the device from front to back.
template <typename T>
class DeviceReader {
 public:
  DeviceReader(const void* d_array, int64_t count) : d_array_(static_cast<const T*>(d_array)), left_(count) {}

  /// Whether the next `length` elements are expected(0) to expected(length - 1). False past the end of the array.
  template <typename Fn>
  bool NextAre(int64_t length, Fn expected) {
    bool same = true;
    for (int64_t i = 0; i < length;) {
      if (next_ == loaded_ && !Load()) return false;
      const int64_t end = std::min(length, i + loaded_ - next_);
      const T* const chunk = static_cast<const T*>(chunk_.get()) + next_ - i;
      for (int64_t k = i; k < end; ++k) same &= chunk[k] == expected(k);
      next_ += end - i;
      i = end;
    }
    return same;
  }

 private:
  static constexpr int64_t kChunk = int64_t{1} << 23;

  bool Load() {
    d_array_ += loaded_;
    loaded_ = std::min(kChunk, left_);
    left_ -= loaded_;
    next_ = 0;
    const auto bytes = static_cast<size_t>(loaded_) * sizeof(T);
    return loaded_ > 0 && cudaMemcpy(chunk_.get(), d_array_, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
  }

  const T* d_array_;
  int64_t left_;
  int64_t next_ = 0, loaded_ = 0;  // in the chunk
  PinnedMemory chunk_ = Pinned(kChunk * int64_t{sizeof(T)});
};

/// Whether the array holds the first `results` keys in order. Key is the type of the keys.
template <typename Key>
bool HoldsKeysInOrder(const void* d_array, const LargeKeys& keys, Order order, int64_t results) {
  DeviceReader<Key> reader(d_array, results);
  bool same = true;
  keys.InOrder(order, results, [&](uint32_t key, int64_t, int64_t length) {
    same &= reader.NextAre(length, [key](int64_t) { return static_cast<Key>(key); });
  });
  return same;
}

/// Whether the array holds of_index(i) for the indices i of the first `results` keys in order.
template <typename T, typename Fn>
bool HoldsInOrder(const void* d_array, const LargeKeys& keys, Order order, int64_t results, Fn of_index) {
  DeviceReader<T> reader(d_array, results);
  bool same = true;
  keys.InOrder(order, results, [&](uint32_t, int64_t first, int64_t length) {
    same &= reader.NextAre(length, [&](int64_t i) { return static_cast<T>(of_index(first + i)); });
  });
  return same;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_LARGE_DEVICE_H_
