// Rounding of counts and bytes.
#ifndef CORANK_KERNELS_ENGINE_ROUNDING_H_
#define CORANK_KERNELS_ENGINE_ROUNDING_H_

#include <cstdint>

namespace corank {

/// value / divisor, rounded up. value >= 0, divisor > 0.
constexpr int64_t CeilDiv(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

/// The least multiple of `whole` that is not below `value`.
constexpr int64_t RoundUp(int64_t value, int64_t whole) { return CeilDiv(value, whole) * whole; }

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ROUNDING_H_
