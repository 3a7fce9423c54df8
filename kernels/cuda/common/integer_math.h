// Rounding divisions and logarithms.
#ifndef CORANK_KERNELS_CUDA_COMMON_INTEGER_MATH_H_
#define CORANK_KERNELS_CUDA_COMMON_INTEGER_MATH_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// value / divisor, rounded up. value >= 0, divisor > 0; never overflows.
CORANK_HOST_DEVICE constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// The least n with 2^n >= value. value >= 1.
CORANK_HOST_DEVICE constexpr int CeilLog2(int64_t value) {
  int log = 0;
  while ((int64_t{1} << log) < value) ++log;
  return log;
}

CORANK_HOST_DEVICE constexpr int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_INTEGER_MATH_H_
