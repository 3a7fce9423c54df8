#include "tests/support/oracles.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>

namespace corank::testing {

std::vector<int64_t> StableOrder(KeyType type, Order order, const Bytes& keys,
                                 const std::vector<int64_t>& segment_offsets) {
  const int64_t count = static_cast<int64_t>(keys.size()) / KeyBytes(type);
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto before = KeyBefore(type, order, keys);
  if (segment_offsets.empty()) {
    std::stable_sort(positions.begin(), positions.end(), before);
  }
  for (size_t s = 1; s < segment_offsets.size(); ++s) {
    std::stable_sort(positions.begin() + segment_offsets[s - 1], positions.begin() + segment_offsets[s], before);
  }
  return positions;
}

std::vector<int64_t> FirstOfOrder(std::vector<int64_t> order, int64_t limit, std::vector<int64_t> segment_offsets,
                                  int64_t offset) {
  order.erase(order.begin(), order.begin() + std::min(offset, static_cast<int64_t>(order.size())));
  if (limit < 0) return order;
  if (segment_offsets.empty()) segment_offsets = {0, static_cast<int64_t>(order.size())};
  std::vector<int64_t> first;
  for (size_t segment = 0; segment + 1 < segment_offsets.size(); ++segment) {
    for (int64_t i = segment_offsets[segment]; i < segment_offsets[segment + 1]; ++i) {
      if (i - segment_offsets[segment] < limit) first.push_back(order[static_cast<size_t>(i)]);
    }
  }
  return first;
}

Bytes Gather(const Bytes& elements, int element_bytes, const std::vector<int64_t>& positions) {
  Bytes result;
  result.reserve(positions.size() * static_cast<size_t>(element_bytes));
  for (int64_t position : positions) {
    const auto begin = elements.begin() + position * element_bytes;
    result.insert(result.end(), begin, begin + element_bytes);
  }
  return result;
}

std::optional<int64_t> FirstUnsorted(KeyType type, Order order, const Bytes& keys) {
  const int64_t count = static_cast<int64_t>(keys.size()) / KeyBytes(type);
  const auto before = KeyBefore(type, order, keys);
  for (int64_t i = 1; i < count; ++i) {
    if (before(i, i - 1)) return i;
  }
  return std::nullopt;
}

std::vector<int64_t> MergeOrder(KeyType type, Order order, const std::vector<Bytes>& inputs) {
  Bytes all;
  for (const Bytes& input : inputs) all.insert(all.end(), input.begin(), input.end());
  const auto before = KeyBefore(type, order, all);
  std::vector<int64_t> merged;
  int64_t begin = 0;
  for (const Bytes& input : inputs) {
    std::vector<int64_t> next(input.size() / static_cast<size_t>(KeyBytes(type)));
    std::iota(next.begin(), next.end(), begin);
    begin += static_cast<int64_t>(next.size());
    std::vector<int64_t> both;
    std::merge(merged.begin(), merged.end(), next.begin(), next.end(), std::back_inserter(both), before);
    merged = std::move(both);
  }
  return merged;
}

std::vector<int64_t> Bounds(KeyType type, Order order, const Bytes& haystack, const Bytes& needles, SearchBound bound) {
  Bytes all = haystack;
  all.insert(all.end(), needles.begin(), needles.end());
  const auto before = KeyBefore(type, order, all);
  const int64_t haystack_count = static_cast<int64_t>(haystack.size()) / KeyBytes(type);
  const int64_t needle_count = static_cast<int64_t>(needles.size()) / KeyBytes(type);
  std::vector<int64_t> hay(static_cast<size_t>(haystack_count));
  std::iota(hay.begin(), hay.end(), int64_t{0});
  std::vector<int64_t> result;
  for (int64_t needle = haystack_count; needle < haystack_count + needle_count; ++needle) {
    const auto position = bound == SearchBound::kLower ? std::lower_bound(hay.begin(), hay.end(), needle, before)
                                                       : std::upper_bound(hay.begin(), hay.end(), needle, before);
    result.push_back(position - hay.begin());
  }
  return result;
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> LoadBalance(const std::vector<int64_t>& counts) {
  std::pair<std::vector<int64_t>, std::vector<int64_t>> result;
  for (size_t object = 0; object < counts.size(); ++object) {
    for (int64_t rank = 0; rank < counts[object]; ++rank) {
      result.first.push_back(static_cast<int64_t>(object));
      result.second.push_back(rank);
    }
  }
  return result;
}

Bytes Move(const Bytes& source, Bytes destination, int element_bytes, const std::vector<int64_t>& source_offsets,
           const std::vector<int64_t>& destination_offsets, const std::vector<int64_t>& counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    std::copy_n(source.begin() + source_offsets[i] * element_bytes, counts[i] * element_bytes,
                destination.begin() + destination_offsets[i] * element_bytes);
  }
  return destination;
}

std::vector<int64_t> PrefixSums(const std::vector<int64_t>& counts) {
  std::vector<int64_t> sums(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), sums.begin(), int64_t{0});
  return sums;
}

std::optional<std::pair<int64_t, int64_t>> FirstOverlap(const std::vector<int64_t>& destination_offsets,
                                                        const std::vector<int64_t>& counts) {
  std::vector<size_t> filled;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) filled.push_back(i);
  }
  std::stable_sort(filled.begin(), filled.end(),
                   [&](size_t a, size_t b) { return destination_offsets[a] < destination_offsets[b]; });
  for (size_t i = 1; i < filled.size(); ++i) {
    if (destination_offsets[filled[i - 1]] + counts[filled[i - 1]] > destination_offsets[filled[i]]) {
      return std::make_pair(static_cast<int64_t>(filled[i - 1]), static_cast<int64_t>(filled[i]));
    }
  }
  return std::nullopt;
}

std::vector<bool> CompareAll(Comparison comparison, KeyType type, const Bytes& keys, const Bytes& threshold) {
  Bytes all = keys;
  all.insert(all.end(), threshold.begin(), threshold.end());
  const int64_t count = static_cast<int64_t>(keys.size()) / KeyBytes(type);
  const auto before = KeyBefore(type, Order::kAscending, all);
  std::vector<bool> holds;
  for (int64_t i = 0; i < count; ++i) {
    const bool less = before(i, count), greater = before(count, i);
    switch (comparison) {
      case Comparison::kLess:
        holds.push_back(less);
        break;
      case Comparison::kEqual:
        holds.push_back(!less && !greater);
        break;
      case Comparison::kLessOrEqual:
        holds.push_back(!greater);
        break;
      case Comparison::kGreater:
        holds.push_back(greater);
        break;
      case Comparison::kNotEqual:
        holds.push_back(less || greater);
        break;
      case Comparison::kGreaterOrEqual:
        holds.push_back(!less);
        break;
    }
  }
  return holds;
}

std::vector<int64_t> SetOrder(SetOperation operation, KeyType type, Order order, const Bytes& left,
                              const Bytes& right) {
  Bytes keys = left;
  keys.insert(keys.end(), right.begin(), right.end());
  std::vector<int64_t> positions(keys.size() / static_cast<size_t>(KeyBytes(type)));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto a = positions.begin(), b = a + static_cast<int64_t>(left.size()) / KeyBytes(type), end = positions.end();
  const auto before = KeyBefore(type, order, keys);
  std::vector<int64_t> result;
  const auto out = std::back_inserter(result);
  switch (operation) {
    case SetOperation::kUnion:
      std::set_union(a, b, b, end, out, before);
      break;
    case SetOperation::kIntersection:
      std::set_intersection(a, b, b, end, out, before);
      break;
    case SetOperation::kDifference:
      std::set_difference(a, b, b, end, out, before);
      break;
    case SetOperation::kSymmetricDifference:
      std::set_symmetric_difference(a, b, b, end, out, before);
      break;
  }
  return result;
}

std::vector<std::pair<int64_t, int64_t>> JoinRows(JoinKind kind, KeyType type, const Bytes& left, const Bytes& right) {
  Bytes keys = left;
  keys.insert(keys.end(), right.begin(), right.end());
  const int64_t left_count = static_cast<int64_t>(left.size()) / KeyBytes(type);
  const int64_t count = static_cast<int64_t>(keys.size()) / KeyBytes(type);
  std::map<int64_t, std::vector<int64_t>, std::function<bool(int64_t, int64_t)>> partners(
      KeyBefore(type, Order::kAscending, keys));
  for (int64_t i = left_count; i < count; ++i) partners[i].push_back(i - left_count);
  std::vector<bool> is_matched(static_cast<size_t>(count - left_count), false);
  std::vector<std::pair<int64_t, int64_t>> rows;
  const bool pairs = kind != JoinKind::kSemi && kind != JoinKind::kAnti;
  for (int64_t i = 0; i < left_count; ++i) {
    const auto found = partners.find(i);
    const bool has_partner = found != partners.end();
    if (has_partner && pairs) {
      for (const int64_t row : found->second) {
        rows.emplace_back(i, row);
        is_matched[static_cast<size_t>(row)] = true;
      }
    }
    const bool alone = kind == JoinKind::kLeft || kind == JoinKind::kFull || kind == JoinKind::kAnti;
    if (has_partner ? kind == JoinKind::kSemi : alone) rows.emplace_back(i, -1);
  }
  if (kind != JoinKind::kRight && kind != JoinKind::kFull) return rows;
  for (size_t row = 0; row < is_matched.size(); ++row) {
    if (!is_matched[row]) rows.emplace_back(-1, static_cast<int64_t>(row));
  }
  return rows;
}

std::vector<int64_t> GroupStarts(KeyType type, const Bytes& keys) {
  const int64_t count = static_cast<int64_t>(keys.size()) / KeyBytes(type);
  const auto before = KeyBefore(type, Order::kAscending, keys);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || before(i, i - 1) || before(i - 1, i)) starts.push_back(i);
  }
  return starts;
}

namespace {

template <typename T>
std::vector<T> ReadAs(const Bytes& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

template <typename T>
void Append(T number, Bytes* bytes) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&number);
  bytes->insert(bytes->end(), begin, begin + sizeof(T));
}

using Numbers = std::vector<std::optional<double>>;  // unset: null

// The sum of values [begin, end) below the node of 2^level positions from `first` on; none if there are none.
std::optional<double> SumBelow(const Numbers& values, int64_t begin, int64_t end, int64_t first, int level) {
  if (end <= first || first + (int64_t{1} << level) <= begin) return std::nullopt;
  if (level == 0) return values[static_cast<size_t>(first)];
  const std::optional<double> left = SumBelow(values, begin, end, first, level - 1);
  const std::optional<double> right = SumBelow(values, begin, end, first + (int64_t{1} << (level - 1)), level - 1);
  if (!left || !right) return left ? left : right;
  return *left + *right;
}

void SumFloats(const Numbers& values, const std::vector<int64_t>& ends, GroupReductions* reductions) {
  for (size_t i = 1; i < ends.size(); ++i) {
    int level = 0;
    while (int64_t{1} << level < ends.back()) ++level;
    const double sum = SumBelow(values, ends[i - 1], ends[i], 0, level).value_or(-0.0);
    if (std::isnan(sum)) {
      Append(uint64_t{0x7FF8000000000000}, &reductions->sums);
    } else {
      Append(sum, &reductions->sums);
    }
  }
}

template <typename T>
void SumIntegers(const Bytes& bytes, const std::vector<bool>& valid, const std::vector<int64_t>& ends,
                 GroupReductions* reductions) {
  using Sum = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  const std::vector<T> values = ReadAs<T>(bytes);
  for (size_t i = 1; i < ends.size(); ++i) {
    __int128 sum = 0;
    for (auto j = static_cast<size_t>(ends[i - 1]); j < static_cast<size_t>(ends[i]); ++j) {
      if (valid[j]) sum += static_cast<__int128>(values[j]);
    }
    const bool fits = std::numeric_limits<Sum>::min() <= sum && sum <= std::numeric_limits<Sum>::max();
    if (!fits && reductions->overflow < 0) reductions->overflow = static_cast<int64_t>(i) - 1;
    Append(static_cast<Sum>(sum), &reductions->sums);
  }
}

template <typename Stored>
Numbers Doubles(const Bytes& bytes, const std::vector<bool>& valid, double (*convert)(Stored)) {
  Numbers numbers;
  for (const Stored stored : ReadAs<Stored>(bytes)) {
    numbers.push_back(valid[numbers.size()] ? std::optional(convert(stored)) : std::nullopt);
  }
  return numbers;
}

// The bytes of the extreme of no values: the last of the type, or, for maxima, the first that is a number.
Bytes ExtremeOfNothing(KeyType type, bool is_maximum) {
  Bytes bytes(static_cast<size_t>(KeyBytes(type)), is_maximum ? 0x00 : 0xFF);
  if (IsSigned(type)) bytes.back() ^= 0x80;
  if (!IsFloat(type)) return bytes;
  bytes.back() = 0x7F;  // a NaN
  if (!is_maximum) return bytes;
  bytes.back() = 0xFF;
  bytes[bytes.size() - 2] = type == KeyType::kFloat16 ? 0 : type == KeyType::kFloat64 ? 0xF0 : 0x80;
  if (type == KeyType::kFloat16) bytes.back() = 0xFC;
  return bytes;
}

// The value at a position as engines write it: one NaN and one zero.
Bytes Extreme(KeyType type, const Bytes& values, int64_t position) {
  const int width = KeyBytes(type);
  const auto begin = values.begin() + position * width;
  Bytes bytes(begin, begin + width);
  if (!IsFloat(type)) return bytes;
  // A float is greater or less than a NaN and the zeros unless it is one of them.
  Bytes pair = bytes;
  pair.insert(pair.end(), static_cast<size_t>(width), 0);
  const auto against_zero = KeyBefore(type, Order::kAscending, pair);
  if (!against_zero(0, 1) && !against_zero(1, 0)) return Bytes(static_cast<size_t>(width), 0);
  Bytes nan(static_cast<size_t>(width), 0xFF);
  nan.back() = 0x7F;
  pair = bytes;
  pair.insert(pair.end(), nan.begin(), nan.end());
  const auto against_nan = KeyBefore(type, Order::kAscending, pair);
  return against_nan(0, 1) ? bytes : nan;
}

}  // namespace

GroupReductions ReduceGroups(KeyType type, const Bytes& values, const std::vector<int64_t>& starts,
                             std::vector<bool> valid) {
  GroupReductions reductions;
  std::vector<int64_t> ends = starts;
  ends.push_back(static_cast<int64_t>(values.size()) / KeyBytes(type));
  if (valid.empty()) valid.assign(static_cast<size_t>(ends.back()), true);
  switch (type) {
    case KeyType::kInt8:
      SumIntegers<int8_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kInt16:
      SumIntegers<int16_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kInt32:
      SumIntegers<int32_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kInt64:
      SumIntegers<int64_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kUint8:
      SumIntegers<uint8_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kUint16:
      SumIntegers<uint16_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kUint32:
      SumIntegers<uint32_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kUint64:
      SumIntegers<uint64_t>(values, valid, ends, &reductions);
      break;
    case KeyType::kFloat16:
      SumFloats(Doubles<uint16_t>(values, valid, [](uint16_t bits) { return double{HalfToFloat(bits)}; }), ends,
                &reductions);
      break;
    case KeyType::kBfloat16:
      SumFloats(Doubles<uint16_t>(values, valid, [](uint16_t bits) { return double{Bfloat16ToFloat(bits)}; }), ends,
                &reductions);
      break;
    case KeyType::kFloat32:
      SumFloats(Doubles<float>(values, valid, [](float value) { return double{value}; }), ends, &reductions);
      break;
    case KeyType::kFloat64:
      SumFloats(Doubles<double>(values, valid, [](double value) { return value; }), ends, &reductions);
      break;
  }
  const auto before = KeyBefore(type, Order::kAscending, values);
  for (size_t i = 1; i < ends.size(); ++i) {
    int64_t least = -1, greatest = -1, count = 0;
    for (int64_t j = ends[i - 1]; j < ends[i]; ++j) {
      if (!valid[static_cast<size_t>(j)]) continue;
      if (count == 0 || before(j, least)) least = j;
      if (count == 0 || before(greatest, j)) greatest = j;
      ++count;
    }
    Append(count, &reductions.value_counts);
    for (const bool is_maximum : {false, true}) {
      Bytes& bytes = is_maximum ? reductions.maxima : reductions.minima;
      const Bytes extreme =
          count == 0 ? ExtremeOfNothing(type, is_maximum) : Extreme(type, values, is_maximum ? greatest : least);
      bytes.insert(bytes.end(), extreme.begin(), extreme.end());
    }
  }
  return reductions;
}

Bytes IndexArray(const std::vector<int64_t>& indices, int index_bytes) {
  Bytes bytes(indices.size() * static_cast<size_t>(index_bytes));
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(bytes.data() + i * static_cast<size_t>(index_bytes), &indices[i], static_cast<size_t>(index_bytes));
  }
  return bytes;
}

Bytes Ranks(RankMethod method, KeyType type, Order order, const Bytes& keys,
            const std::vector<int64_t>& segment_offsets) {
  if (!segment_offsets.empty()) {
    Bytes ranks;
    for (size_t s = 1; s < segment_offsets.size(); ++s) {
      const auto at = [&](size_t i) { return keys.begin() + segment_offsets[i] * KeyBytes(type); };
      const Bytes segment = Ranks(method, type, order, Bytes(at(s - 1), at(s)));
      ranks.insert(ranks.end(), segment.begin(), segment.end());
    }
    return ranks;
  }
  const std::vector<int64_t> sorted = StableOrder(type, order, keys);
  const auto before = KeyBefore(type, order, keys);
  std::vector<int64_t> ranks(sorted.size());
  std::vector<double> averages(sorted.size());
  int64_t dense = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && !before(sorted[begin], sorted[end])) ++end;
    ++dense;
    int64_t sum = 0;
    for (size_t i = begin; i < end; ++i) sum += static_cast<int64_t>(i) + 1;
    for (size_t i = begin; i < end; ++i) {
      const auto key = static_cast<size_t>(sorted[i]);
      averages[key] = static_cast<double>(sum) / static_cast<double>(end - begin);
      ranks[key] = static_cast<int64_t>(method == RankMethod::kMin     ? begin + 1
                                        : method == RankMethod::kMax   ? end
                                        : method == RankMethod::kDense ? static_cast<size_t>(dense)
                                                                       : i + 1);
    }
  }
  if (method != RankMethod::kAverage) return IndexArray(ranks, 4);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(averages.data());
  return Bytes(bytes, bytes + averages.size() * sizeof(double));
}

}  // namespace corank::testing
