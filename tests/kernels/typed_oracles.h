// Plain answers of the typed operators (corank/cpu.h, corank/cuda.h), made from the inputs by the standard library.
#ifndef CORANK_TESTS_KERNELS_TYPED_ORACLES_H_
#define CORANK_TESTS_KERNELS_TYPED_ORACLES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/types.h"
#include "tests/support/distributions.h"

namespace corank::testing {

/// Whether a comes strictly before b.
template <typename Key>
bool ComesBefore(Key a, Key b, Order order) {
  if (order == Order::kDescending) std::swap(a, b);
  if constexpr (std::is_floating_point_v<Key>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

/// The stable permutation of keys[begin, end), as indices of the whole array.
template <typename Key>
std::vector<int64_t> Permutation(const std::vector<Key>& keys, int64_t begin, int64_t end, Order order) {
  std::vector<int64_t> permutation(static_cast<size_t>(end - begin));
  std::iota(permutation.begin(), permutation.end(), begin);
  std::stable_sort(permutation.begin(), permutation.end(), [&](int64_t a, int64_t b) {
    return ComesBefore(keys[static_cast<size_t>(a)], keys[static_cast<size_t>(b)], order);
  });
  return permutation;
}
template <typename Key>
std::vector<int64_t> Permutation(const std::vector<Key>& keys, Order order) {
  return Permutation(keys, 0, static_cast<int64_t>(keys.size()), order);
}

/// Where each run of equal keys begins.
template <typename Key>
std::vector<int64_t> RunStarts(const std::vector<Key>& keys) {
  std::vector<int64_t> starts;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || ComesBefore(keys[i - 1], keys[i], Order::kAscending) ||
        ComesBefore(keys[i], keys[i - 1], Order::kAscending)) {
      starts.push_back(static_cast<int64_t>(i));
    }
  }
  return starts;
}

template <typename T>
std::vector<T> Take(const std::vector<T>& elements, const std::vector<int64_t>& indices) {
  std::vector<T> taken;
  for (const int64_t index : indices) taken.push_back(elements[static_cast<size_t>(index)]);
  return taken;
}

/// Equal bit by bit, so that NaNs and zeros are told apart.
template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Keys of few different values, so that stability shows; floats with NaNs and both zeros.
template <typename Key>
std::vector<Key> FewKeys(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<Key> keys(static_cast<size_t>(count));
  for (Key& key : keys) {
    key = static_cast<Key>(random.Below(100));
    if constexpr (std::is_floating_point_v<Key>) {
      if (random.OneIn(10)) key = std::copysign(std::nan(""), random.OneIn(2) ? Key{1} : Key{-1});
      if (random.OneIn(10)) key = random.OneIn(2) ? Key{0} : -Key{0};
    }
  }
  return keys;
}

/// Lengths of intervals: mostly short, some empty, a few long.
inline std::vector<int64_t> Lengths(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> lengths(static_cast<size_t>(count));
  for (int64_t& length : lengths) length = random.OneIn(50) ? random.Below(5000) : random.Below(8);
  return lengths;
}

/// Where each interval starts if they lie one behind the other.
inline std::vector<int64_t> Starts(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> starts(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), int64_t{0});
  return starts;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_KERNELS_TYPED_ORACLES_H_
