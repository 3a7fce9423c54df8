#include "tests/support/large_keys.h"

#include <algorithm>
#include <type_traits>

#include "tests/support/distributions.h"

namespace corank::testing {

LargeKeys LargeKeys::Random(int64_t count, int key_bytes, int64_t distinct, uint64_t seed) {
  constexpr int64_t kLeastPeriod = (1 << 20) + 7;  // unrelated to the size of any tile
  LargeKeys keys(count, key_bytes);
  testing::Random random(seed);
  const int64_t step = (int64_t{1} << (8 * key_bytes)) / distinct;
  while (keys.period_ < std::min(kLeastPeriod, count)) {
    const int64_t length = 1 + random.Below(15);
    keys.ranges_.push_back({static_cast<uint32_t>(step * random.Below(distinct)), keys.period_, length});
    keys.period_ += length;
  }
  return keys;
}

LargeKeys LargeKeys::Runs(int64_t count, int key_bytes, int64_t runs, Order order) {
  LargeKeys keys(count, key_bytes);
  keys.period_ = count;
  for (int64_t i = 0; i < runs * kDistinct; ++i) {
    const int64_t first = count / (runs * kDistinct) * i;
    const int64_t end = i + 1 == runs * kDistinct ? count : count / (runs * kDistinct) * (i + 1);
    const int64_t number = order == Order::kAscending ? i % kDistinct : kDistinct - 1 - i % kDistinct;
    keys.ranges_.push_back({static_cast<uint32_t>(number << (8 * (key_bytes - 1))), first, end - first});
  }
  return keys;
}

Bytes LargeKeys::FirstPeriod() const {
  Bytes bytes(static_cast<size_t>(period_ * key_bytes_));
  const auto fill = [&](auto* keys) {
    for (const Range& range : ranges_) {
      std::fill_n(keys + range.first, range.length, static_cast<std::decay_t<decltype(*keys)>>(range.key));
    }
  };
  switch (key_bytes_) {
    case 1:
      fill(bytes.data());
      break;
    case 2:
      fill(reinterpret_cast<uint16_t*>(bytes.data()));
      break;
    default:
      fill(reinterpret_cast<uint32_t*>(bytes.data()));
  }
  return bytes;
}

}  // namespace corank::testing
