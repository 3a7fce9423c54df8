// Batcher's network, run with the kernels' index arithmetic.
#include "kernels/cuda/sort/batcher.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

/// Step (p, k) on positions [first, end) of keys, with the numbering of StepKernel and Window::Step.
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

/// One window of a BatcherPass, as in the kernels: rows [core - halo, ...) of `rows` rows of one column.
void WindowPass(const std::vector<int>& input, const BatcherPass& pass, int64_t rows, int64_t core, int64_t column,
                std::vector<int>* output) {
  const int64_t size = static_cast<int64_t>(input.size());
  const int64_t start = core - pass.halo;
  const int first = static_cast<int>(std::max<int64_t>(0, -start));
  const int64_t last = size > column ? (size - column + pass.stride - 1) / pass.stride : 0;
  const int end = static_cast<int>(std::min<int64_t>(rows, last - start));
  std::vector<int> window(static_cast<size_t>(rows));
  for (int row = first; row < end; ++row) window[row] = input[(start + row) * pass.stride + column];
  const int64_t p = pass.p / pass.stride;
  const BatcherBlocks blocks(start, p);
  for (int k = static_cast<int>(pass.first_step / pass.stride); k >= 1; k /= 2) {
    for (int c = 0; c < rows / 2; ++c) {
      const int x = BatcherLower(c, k == p ? k : 2 * k, k);
      if (x < first || x + k >= end || !blocks.Contain(x, k)) continue;
      if (window[x + k] < window[x]) std::swap(window[x], window[x + k]);
    }
  }
  for (int64_t row = pass.halo; row < std::min<int64_t>(end, pass.halo + pass.core); ++row) {
    (*output)[(start + row) * pass.stride + column] = window[row];
  }
}

/// The algorithm of odd_even.cu with small windows.
template <int kWindow, int kRows>
void WindowedSort(std::vector<int>& keys) {
  const int64_t size = static_cast<int64_t>(keys.size());
  for (int64_t start = 0; start < size; start += kWindow) {
    std::sort(keys.begin() + start, keys.begin() + std::min(size, start + kWindow));
  }
  ForEachBatcherPass<kWindow, kRows>(size, [&](const BatcherPass& pass) {
    const std::vector<int> input = keys;
    std::fill(keys.begin(), keys.end(), -1);
    for (int64_t core = 0; core * pass.stride < size; core += pass.core) {
      for (int64_t column = 0; column < pass.stride; ++column) {
        WindowPass(input, pass, pass.stride == 1 ? kWindow : kRows, core, column, &keys);
      }
    }
  });
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

TEST(BatcherBlocks, ContainTheComparatorsThatStayInABlock) {
  for (int64_t p : {int64_t{1}, int64_t{4}, int64_t{64}, int64_t{1} << 29, int64_t{1} << 30, int64_t{1} << 40}) {
    for (int64_t block : {int64_t{0}, int64_t{1}, int64_t{5}}) {
      for (int64_t back : {int64_t{0}, int64_t{8}, int64_t{96}, 2 * p}) {
        const int64_t start = 2 * p * block - back;
        const BatcherBlocks blocks(start, p);
        for (int k = 1; k <= p && k <= 64; k *= 2) {
          for (int x = 0; x < 256; ++x) {
            ASSERT_EQ(blocks.Contain(x, k), BatcherInBlock(start + x, p, int64_t{k}))
                << "p " << p << ", start " << start << ", x " << x << ", k " << k;
          }
        }
      }
    }
  }
}

TEST(BatcherPasses, DoEveryStepOnceAndInOrder) {
  int64_t p = 8192, k = p, passes = 0;
  ForEachBatcherPass<8192, 256>(1000000000, [&](const BatcherPass& pass) {
    ++passes;
    ASSERT_EQ(pass.p, p);
    ASSERT_EQ(pass.first_step, k);
    ASSERT_LE(pass.stride, k);
    const int64_t rows = k == p ? 256 : pass.stride == 1 ? 8192 : 256;
    EXPECT_LE(pass.halo == 0 ? 2 * p : 16 * k, rows * pass.stride) << "p " << p << ", k " << k;
    k = pass.stride / 2;
    if (k == 0) k = p *= 2;
  });
  EXPECT_GE(p, 1000000000);
  EXPECT_EQ(passes, 55);
}

TEST(BatcherNetwork, FusedWindowsGiveTheSameOrderForAnyLength) {
  Random random(11);
  for (int64_t size = 0; size < 1500; size += size < 300 ? 1 : 7) {
    std::vector<int> keys(size);
    for (int& key : keys) key = static_cast<int>(random.Below(size + 1));
    std::vector<int> expected = keys;
    std::sort(expected.begin(), expected.end());
    std::vector<int> other = keys;
    WindowedSort<16, 16>(keys);
    ASSERT_EQ(keys, expected) << "size " << size;
    WindowedSort<64, 32>(other);
    ASSERT_EQ(other, expected) << "size " << size;
  }
}

}  // namespace
}  // namespace corank::cuda
