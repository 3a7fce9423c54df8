// Batcher's network, run by the index arithmetic that the kernels use.
#include "kernels/cuda/sort/batcher.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

/// Step (p, k) on positions [first, end) of keys, numbered as StepKernel and Window::Step number them.
void Step(std::vector<int>& keys, int64_t start, int64_t first, int64_t end, int64_t p, int64_t k) {
  const int64_t size = static_cast<int64_t>(keys.size());
  for (int64_t c = 0; c < 2 * p + size; ++c) {
    const int64_t x = BatcherLower(c, p, k);
    if (x < first || x + k >= end || !BatcherInBlock(start + x, p, k)) continue;
    if (keys[x + k] < keys[x]) std::swap(keys[x], keys[x + k]);
  }
}

void NetworkSort(std::vector<int>& keys) {
  const int64_t size = static_cast<int64_t>(keys.size());
  for (int64_t p = 1; p < size; p *= 2) {
    for (int64_t k = p; k >= 1; k /= 2) Step(keys, 0, 0, size, p, k);
  }
}

/// The algorithm of odd_even.cu with a small window.
template <int kWindow>
void WindowedSort(std::vector<int>& keys) {
  using Layout = BatcherWindow<kWindow>;
  const int64_t size = static_cast<int64_t>(keys.size());
  for (int64_t start = 0; start < size; start += kWindow) {
    std::sort(keys.begin() + start, keys.begin() + std::min(size, start + kWindow));
  }
  for (int64_t p = kWindow; p < size; p *= 2) {
    for (int64_t k = p; k > Layout::kFirstStep; k /= 2) Step(keys, 0, 0, size, p, k);
    const std::vector<int> input = keys;
    for (int64_t core = 0; core < size; core += Layout::kCore) {
      const int64_t start = core - Layout::kHalo;
      const int64_t first = std::max<int64_t>(0, -start), end = std::min<int64_t>(kWindow, size - start);
      std::vector<int> window(kWindow);
      for (int64_t i = first; i < end; ++i) window[i] = input[start + i];
      for (int64_t k = Layout::kFirstStep; k >= 1; k /= 2) Step(window, start, first, end, p, k);
      for (int64_t i = 0; i < std::min<int64_t>(Layout::kCore, size - core); ++i) {
        keys[core + i] = window[Layout::kHalo + i];
      }
    }
  }
}

// The 0-1 principle: a network that sorts all sequences of zeros and ones sorts everything.
TEST(BatcherNetwork, SortsEverySequenceOfZerosAndOnesOfAnyLength) {
  for (int size = 0; size <= 13; ++size) {
    for (int bits = 0; bits < 1 << size; ++bits) {
      std::vector<int> keys(size);
      for (int i = 0; i < size; ++i) keys[i] = bits >> i & 1;
      NetworkSort(keys);
      ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end())) << "size " << size << ", sequence " << bits;
    }
  }
}

TEST(BatcherNetwork, IsBatcherLowerNamesTheEnumeratedComparators) {
  constexpr int kSize = 256;
  for (int p = 1; p < kSize; p *= 2) {
    for (int k = p; k >= 1; k /= 2) {
      std::vector<bool> enumerated(2 * kSize);
      for (int c = 0; c < kSize / 2; ++c) {
        const int x = BatcherLower(c, p, k);
        if (BatcherInBlock(x, p, k)) enumerated[x] = true;
      }
      for (int x = 0; x < kSize; ++x) {
        ASSERT_EQ(IsBatcherLower(x, p, k), enumerated[x]) << "x " << x << ", p " << p << ", k " << k;
      }
    }
  }
}

TEST(BatcherNetwork, FusedWindowsGiveTheSameOrderForAnyLength) {
  Random random(11);
  for (int64_t size = 0; size < 700; ++size) {
    std::vector<int> keys(size);
    for (int& key : keys) key = static_cast<int>(random.Below(size + 1));
    std::vector<int> expected = keys;
    std::sort(expected.begin(), expected.end());
    std::vector<int> other = keys;
    WindowedSort<16>(keys);
    ASSERT_EQ(keys, expected) << "size " << size;
    WindowedSort<64>(other);
    ASSERT_EQ(other, expected) << "size " << size;
  }
}

}  // namespace
}  // namespace corank::cuda
