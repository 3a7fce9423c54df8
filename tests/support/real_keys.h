// Keys as the real numbers they stand for: the comparator that tests trust. Written on float, double and the integer
// types, independently of kernels/common/key_order.h.
#ifndef CORANK_TESTS_SUPPORT_REAL_KEYS_H_
#define CORANK_TESTS_SUPPORT_REAL_KEYS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/common/types.h"

namespace corank::testing {

/// Bytes of an array, little-endian and dense, as it travels.
using Bytes = std::vector<uint8_t>;

/// The value of an IEEE 754 binary16 and of a bfloat16.
float HalfToFloat(uint16_t bits);
float Bfloat16ToFloat(uint16_t bits);

/// The strict weak order of keys: before(a, b) for two elements of `keys`, given by index. NaNs come last in ascending
/// and first in descending order, -0.0 equals +0.0. `keys` is decoded once and not needed afterwards.
std::function<bool(int64_t, int64_t)> KeyBefore(KeyType type, Order order, const Bytes& keys);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_REAL_KEYS_H_
