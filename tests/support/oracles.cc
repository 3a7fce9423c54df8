#include "tests/support/oracles.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

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

Bytes IndexArray(const std::vector<int64_t>& indices, int index_bytes) {
  Bytes bytes(indices.size() * static_cast<size_t>(index_bytes));
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(bytes.data() + i * static_cast<size_t>(index_bytes), &indices[i], static_cast<size_t>(index_bytes));
  }
  return bytes;
}

}  // namespace corank::testing
