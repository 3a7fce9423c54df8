// Adjacent runs of an array that are merged in pairs.
#ifndef CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_
#define CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

template <typename T>
CORANK_HOST_DEVICE T Min(T x, T y) {
  return y < x ? y : x;
}
template <typename T>
CORANK_HOST_DEVICE T Max(T x, T y) {
  return x < y ? y : x;
}

/// Two adjacent runs of an array. The second may be empty.
struct RunPair {
  int64_t start, middle, end;
};

/// The pair that contains position x of [0, count) if runs have `width` elements. x < count.
CORANK_HOST_DEVICE RunPair PairAt(int64_t x, int64_t width, int64_t count) {
  const int64_t start = x / width / 2 * 2 * width;
  const int64_t middle = count - start < width ? count : start + width;
  return {start, middle, count - middle < width ? count : middle + width};
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_
