// Keys as real numbers: the comparator that tests trust. Uses float, double and integer types, independently of
// kernels/common/key_order.h.
#ifndef CORANK_TESTS_SUPPORT_REAL_KEYS_H_
#define CORANK_TESTS_SUPPORT_REAL_KEYS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/common/types.h"

namespace corank::testing {

/// The bytes of an array, little-endian and dense, as in messages.
using Bytes = std::vector<uint8_t>;
inline std::string Text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

/// The value of an IEEE 754 binary16 and of a bfloat16.
float HalfToFloat(uint16_t bits);
float Bfloat16ToFloat(uint16_t bits);

/// The strict weak order of keys: before(a, b) for two indices into `keys`. NaNs come last in ascending and first in
/// descending order; -0.0 equals +0.0. Decodes `keys` at once; the caller may release it afterwards.
std::function<bool(int64_t, int64_t)> KeyBefore(KeyType type, Order order, const Bytes& keys);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_REAL_KEYS_H_
