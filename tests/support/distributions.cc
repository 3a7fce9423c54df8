#include "tests/support/distributions.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

void Put(Bytes& bytes, int64_t index, int width, uint64_t bits) {
  std::memcpy(bytes.data() + index * width, &bits, static_cast<size_t>(width));
}

// A pattern of the given kind: for floats a special value, for integers an extreme.
uint64_t SpecialBits(KeyType type, Random& random) {
  const int bits = 8 * KeyBytes(type);
  const uint64_t top = uint64_t{1} << (bits - 1);
  const uint64_t sign = random.OneIn(2) ? top : 0;
  if (!IsFloat(type)) {
    const uint64_t extremes[] = {0, 1, top, top - 1, top + 1, ~uint64_t{0}};
    return extremes[random.Below(6)];
  }
  const int fraction_bits = type == KeyType::kFloat16    ? 10
                            : type == KeyType::kBfloat16 ? 7
                            : type == KeyType::kFloat32  ? 23
                                                         : 52;
  const uint64_t fraction = random.Next() & ((uint64_t{1} << fraction_bits) - 1);
  const uint64_t infinity = (top - 1) >> fraction_bits << fraction_bits;
  switch (random.Below(6)) {
    case 0:
      return sign | infinity | std::max<uint64_t>(fraction, 1);  // NaN
    case 1:
      return sign | infinity;
    case 2:
      return sign | fraction;  // denormal
    case 3:
      return sign | (random.Next() & (top - 1));
    default:
      return sign;  // zero
  }
}

Bytes Permuted(const Bytes& keys, const std::vector<int64_t>& order, int width) {
  Bytes result(keys.size());
  for (size_t i = 0; i < order.size(); ++i) {
    std::memcpy(result.data() + i * static_cast<size_t>(width), keys.data() + order[i] * width,
                static_cast<size_t>(width));
  }
  return result;
}

}  // namespace

const char* DistributionName(Distribution distribution) {
  switch (distribution) {
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kSorted:
      return "sorted";
    case Distribution::kReversed:
      return "reversed";
    case Distribution::kNearlySorted:
      return "nearly-sorted";
    case Distribution::kAllEqual:
      return "all-equal";
    case Distribution::kSixteenDistinct:
      return "16-distinct";
    case Distribution::kZipf:
      return "zipf";
    case Distribution::kSixteenBits:
      return "16-bits";
    case Distribution::kRuns:
      return "runs";
    case Distribution::kSpecialFloats:
      return "special-floats";
  }
  return "unknown";
}

Bytes MakeBytes(int64_t count, uint64_t seed) {
  Random random(seed);
  Bytes bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return bytes;
}

Bytes MakeKeys(KeyType type, Distribution distribution, int64_t count, uint64_t seed) {
  Random random(seed);
  const int width = KeyBytes(type);
  Bytes keys(static_cast<size_t>(count * width));
  const auto fill = [&](auto bits) {
    for (int64_t i = 0; i < count; ++i) Put(keys, i, width, bits());
  };
  const auto uniform = [&] { return random.Next(); };
  switch (distribution) {
    case Distribution::kUniform:
      fill(uniform);
      break;
    case Distribution::kSorted:
    case Distribution::kNearlySorted:
    case Distribution::kReversed: {
      fill(uniform);
      const Order order = distribution == Distribution::kReversed ? Order::kDescending : Order::kAscending;
      keys = Permuted(keys, StableOrder(type, order, keys), width);
      if (distribution != Distribution::kNearlySorted || count == 0) break;
      for (int64_t i = 0; i < count / 100; ++i) Put(keys, random.Below(count), width, random.Next());
      break;
    }
    case Distribution::kAllEqual: {
      const uint64_t bits = random.Next();
      fill([&] { return bits; });
      break;
    }
    case Distribution::kSixteenDistinct: {
      uint64_t distinct[16];
      for (uint64_t& bits : distinct) bits = random.Next();
      fill([&] { return distinct[random.Below(16)]; });
      break;
    }
    case Distribution::kZipf:
      // Exponent 1: the rank's logarithm is uniform.
      fill([&] {
        const double uniform01 = static_cast<double>(random.Next() >> 11) * 0x1p-53;
        return static_cast<uint64_t>(std::exp(uniform01 * std::log(1e6))) * 0x9E3779B97F4A7C15;
      });
      break;
    case Distribution::kSixteenBits:
      fill([&] { return random.Next() & 0xFFFF; });
      break;
    case Distribution::kRuns: {
      uint64_t run = 0;
      uint64_t step = 0;
      fill([&] {
        if (step++ % 1000 == 0) run = random.Next() % 50;
        return run += 3;
      });
      break;
    }
    case Distribution::kSpecialFloats:
      fill([&] { return SpecialBits(type, random); });
      break;
  }
  return keys;
}

std::vector<int64_t> CutSegments(int64_t count, int64_t longest, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> offsets = {0, 0};
  while (offsets.back() < count) {
    offsets.push_back(std::min(count, offsets.back() + 1 + random.Below(longest)));
    for (int64_t empty = random.OneIn(4) ? random.Below(5) : 0; empty > 0; --empty) offsets.push_back(offsets.back());
  }
  offsets.push_back(count);
  return offsets;
}

}  // namespace corank::testing
