#include "kernels/cpu/item_sort.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/common/merge_path.h"
#include "kernels/common/rank_band.h"
#include "kernels/cpu/item_merge.h"
#include "kernels/cpu/vector_merge.h"
#include "kernels/cpu/vector_sort.h"

namespace corank::cpu {
namespace {

// Below this size, starting VQSort costs more than it saves.
constexpr int64_t kInsertionSortMax = 24;
// The smallest chunk for one thread. VQSort loses little efficiency down to this size, and starting a task costs a few
// microseconds.
constexpr int64_t kMinimumChunk = int64_t{1} << 15;
constexpr int64_t kMergeGrain = int64_t{1} << 14;
constexpr int64_t kCompareGrain = int64_t{1} << 14;

// A power of two, so that merge passes pair chunks evenly.
int64_t ChunkCount(int64_t count, int threads) {
  int64_t chunks = 1;
  while (chunks < threads && count / (2 * chunks) >= kMinimumChunk) chunks *= 2;
  return chunks;
}

template <typename Item>
void InsertionSort(Item* items, int64_t count) {
  const ItemLess less;
  for (int64_t i = 1; i < count; ++i) {
    const Item item = items[i];
    int64_t to = i;
    for (; to > 0 && less(item, items[to - 1]); --to) items[to] = items[to - 1];
    items[to] = item;
  }
}

// For items of 8 and 16 bits, which repeat often.
template <typename Item>
void CountingSort(Item* items, int64_t count, Parallel& parallel) {
  constexpr int64_t kKeys = int64_t{1} << (8 * sizeof(Item));
  // Several tables if there are few distinct keys: otherwise a run of one key waits for its own stores.
  constexpr int kTables = sizeof(Item) == 1 ? 4 : 1;
  constexpr int kPerWord = 8 / static_cast<int>(sizeof(Item));
  std::vector<int64_t> ends(kKeys, 0);
  std::mutex mutex;
  const int64_t pieces = PieceCount(count, std::max(kMinimumChunk, 2 * kKeys), parallel.threads());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    const int64_t end = PieceBegin(count, piece + 1, pieces);
    std::vector<int64_t> tables(kTables * kKeys, 0);
    int64_t i = PieceBegin(count, piece, pieces);
    for (; i + kPerWord <= end; i += kPerWord) {
      uint64_t keys;
      std::memcpy(&keys, items + i, sizeof(keys));
      for (int place = 0; place < kPerWord; ++place) {
        ++tables[(place % kTables) * kKeys + (keys >> (8 * sizeof(Item) * place) & (kKeys - 1))];
      }
    }
    for (; i < end; ++i) ++tables[items[i]];
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t entry = 0; entry < tables.size(); ++entry) ends[entry % kKeys] += tables[entry];
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t begin = PieceBegin(count, piece, pieces);
    const int64_t piece_end = PieceBegin(count, piece + 1, pieces);
    for (auto key = std::upper_bound(ends.begin(), ends.end(), begin); begin < piece_end; ++key) {
      const int64_t end = std::min(*key, piece_end);
      std::fill(items + begin, items + end, static_cast<Item>(key - ends.begin()));
      begin = end;
    }
  });
}

// From this size on, counting is faster than comparing. A table of 16-bit keys takes time to clear and to read.
template <typename Item>
constexpr int64_t kLeastCounted = sizeof(Item) == 1 ? 0 : int64_t{1} << 18;

template <typename Item>
bool Counts(int64_t count, SortAlgorithm algorithm) {
  return sizeof(Item) <= 2 && count >= kLeastCounted<Item> && algorithm != SortAlgorithm::kMergesort;
}

// VQSort sorts all items in the time of a selection of more than 1/8 of them, unless they have 128 bits.
template <typename Item>
constexpr int64_t kLeastPerSelected = sizeof(Item) == 16 ? 1 : 8;

template <typename Item>
void QuickSort(Item* items, int64_t count) {
  if (count <= kInsertionSortMax) return InsertionSort(items, count);
  if constexpr (sizeof(Item) == 1) {
    Parallel alone(1);
    CountingSort(items, count, alone);
  } else {
    VectorSort(items, count);
  }
}

template <typename Item>
void MergeInto(Item* out, const Item* a, int64_t a_begin, int64_t a_end, const Item* b, int64_t b_begin,
               int64_t b_end) {
  MergeRanges(a, a_begin, a_end, b, b_begin, b_end, ItemLess(),
              [&](bool, int64_t, const Item& item) { *out++ = item; });
}

template <typename Item>
void MergesortChunk(Item* items, Item* temp, int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kInsertionSortMax) {
    InsertionSort(items + begin, std::min(kInsertionSortMax, count - begin));
  }
  Item* from = items;
  Item* to = temp;
  for (int64_t run = kInsertionSortMax; run < count; run *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * run) {
      const int64_t middle = std::min(begin + run, count);
      MergeInto(to + begin, from, begin, middle, from, middle, std::min(middle + run, count));
    }
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + count, items);
}

// One merge-path pass: merges the neighbouring runs [bounds[2i], bounds[2i+1]) and [bounds[2i+1], bounds[2i+2]).
// Co-ranks cut the output into pieces of equal size, whatever the lengths of the runs.
template <typename Item, typename Bound>
void MergePass(const Item* from, Item* to, int64_t count, int64_t pairs, const Bound& bound, Parallel& parallel) {
  const int64_t pieces = PieceCount(count, kMergeGrain, parallel.threads());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    const int64_t out_begin = PieceBegin(count, piece, pieces);
    const int64_t out_end = PieceBegin(count, piece + 1, pieces);
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const int64_t begin = std::max(out_begin, bound(2 * pair));
      const int64_t end = std::min(out_end, bound(2 * pair + 2));
      if (begin >= end) continue;
      const Item* a = from + bound(2 * pair);
      const Item* b = from + bound(2 * pair + 1);
      const int64_t a_count = bound(2 * pair + 1) - bound(2 * pair);
      const int64_t b_count = bound(2 * pair + 2) - bound(2 * pair + 1);
      const int64_t first = begin - bound(2 * pair);
      const int64_t last = end - bound(2 * pair);
      const int64_t a_begin = CoRank(first, a, a_count, b, b_count, ItemLess());
      const int64_t a_end = CoRank(last, a, a_count, b, b_count, ItemLess());
      const Item* const piece_b = b + (first - a_begin);
      const int64_t piece_b_count = (last - a_end) - (first - a_begin);
      Item* const out = to + begin;
      if constexpr (kVectorMerges<Item>) {
        VectorMerge(a + a_begin, a_end - a_begin, piece_b, piece_b_count, 0, out);
      } else {
        MergeInterleaved(
            a + a_begin, a_end - a_begin, piece_b, piece_b_count, ItemLess(),
            [&](int64_t i, bool, int64_t, const Item& item) { out[i] = item; }, [](int64_t, int64_t, int64_t) {});
      }
    }
  });
}

template <typename Item>
void BatcherSort(Item* items, int64_t count, Parallel& parallel) {
  const ItemLess less;
  int64_t top = 1;
  while (2 * top < count) top *= 2;
  for (int64_t p = top; p > 0; p /= 2) {
    int64_t r = 0;
    int64_t distance = p;
    for (int64_t q = top;; q /= 2) {
      // The comparators of one step touch disjoint pairs.
      parallel.ForRange(count - distance, kCompareGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if ((i & p) != r) continue;
          const Item a = items[i];
          const Item b = items[i + distance];
          const bool exchange = less(b, a);
          items[i] = exchange ? b : a;
          items[i + distance] = exchange ? a : b;
        }
      });
      if (q == p) break;
      distance = q - p;
      r = p;
    }
  }
}

}  // namespace

template <typename Item>
bool EndsInTemp(int64_t count, SortAlgorithm algorithm, int threads) {
  if (algorithm == SortAlgorithm::kOddEvenMergesort || Counts<Item>(count, algorithm)) return false;
  bool in_temp = false;
  for (int64_t runs = ChunkCount(count, threads); runs > 1; runs /= 2) in_temp = !in_temp;
  return in_temp;
}

bool NeedsTemp(int64_t count, SortAlgorithm algorithm, int threads) {
  if (algorithm == SortAlgorithm::kOddEvenMergesort) return false;
  return algorithm == SortAlgorithm::kMergesort || ChunkCount(count, threads) > 1;
}

template <typename Item>
Item* SortItems(Item* items, Item* temp, int64_t count, SortAlgorithm algorithm, Parallel& parallel) {
  if (algorithm == SortAlgorithm::kOddEvenMergesort) {
    BatcherSort(items, count, parallel);
    return items;
  }
  if constexpr (sizeof(Item) <= 2) {
    if (Counts<Item>(count, algorithm)) {
      CountingSort(items, count, parallel);
      return items;
    }
  }
  const int64_t chunks = ChunkCount(count, parallel.threads());
  parallel.ForPieces(chunks, [&](int64_t chunk) {
    const int64_t begin = PieceBegin(count, chunk, chunks);
    const int64_t length = PieceBegin(count, chunk + 1, chunks) - begin;
    if (algorithm == SortAlgorithm::kMergesort) {
      MergesortChunk(items + begin, temp + begin, length);
    } else {
      QuickSort(items + begin, length);
    }
  });
  for (int64_t runs = chunks; runs > 1; runs /= 2) {
    const int64_t chunks_per_run = chunks / runs;
    MergePass(
        items, temp, count, runs / 2, [&](int64_t run) { return PieceBegin(count, run * chunks_per_run, chunks); },
        parallel);
    std::swap(items, temp);
  }
  return items;
}

template <typename Item>
int64_t SelectItems(Item* items, int64_t count, int64_t limit, Parallel& parallel) {
  const int64_t chunks = ChunkCount(count, parallel.threads());
  const bool sorts_as_fast = limit >= count / chunks / kLeastPerSelected<Item>;
  if (sorts_as_fast || Counts<Item>(count, SortAlgorithm::kRadix)) return count;
  parallel.ForPieces(chunks, [&](int64_t chunk) {
    Item* begin = items + PieceBegin(count, chunk, chunks);
    Item* end = items + PieceBegin(count, chunk + 1, chunks);
    if (limit < end - begin) std::nth_element(begin, begin + limit, end, ItemLess());
  });
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const Item* begin = items + PieceBegin(count, chunk, chunks);
    std::copy(begin, begin + limit, items + chunk * limit);
  }
  return chunks * limit;
}

template <typename Item>
ItemBand SelectBand(Item* items, int64_t count, int64_t first, int64_t end, Parallel& parallel) {
  using Number = decltype(NumberOf(*items));
  const ItemBand all{0, count};
  const RankBand band = BandAround(count, first, end);
  if (band.samples == 0 || sizeof(Item) <= 2) return all;  // short items are counted
  std::vector<Item> sample(static_cast<size_t>(band.samples));
  for (int64_t i = 0; i < band.samples; ++i) {
    uint32_t unused;
    sample[static_cast<size_t>(i)] = items[SampledPlace(i, band.samples, count, &unused)];
  }
  QuickSort(sample.data(), band.samples);
  const Number low = band.low < 0 ? Number{0} : NumberOf(sample[static_cast<size_t>(band.low)]);
  const Number high = band.high == band.samples ? ~Number{0} : NumberOf(sample[static_cast<size_t>(band.high)]);
  const Number range = high - low;

  // Only a sample that bounds the results well may move items. Comparisons are sums, because nobody can predict whether
  // an item lies below the median.
  const int64_t chunks = ChunkCount(count, parallel.threads());
  std::vector<ItemBand> found(static_cast<size_t>(chunks));
  parallel.ForPieces(chunks, [&found, items, count, chunks, low, range](int64_t chunk) {
    const int64_t chunk_end = PieceBegin(count, chunk + 1, chunks);
    ItemBand own;
    for (int64_t i = PieceBegin(count, chunk, chunks); i < chunk_end; ++i) {
      const Number number = NumberOf(items[i]);
      own.below += number < low ? 1 : 0;
      own.count += static_cast<Number>(number - low) <= range ? 1 : 0;
    }
    found[static_cast<size_t>(chunk)] = own;
  });
  ItemBand sum;
  for (const ItemBand& own : found) {
    sum.below += own.below;
    sum.count += own.count;
  }
  if (sum.below > first || sum.below + sum.count < end || sum.count > count / 2) return all;
  parallel.ForPieces(chunks, [items, count, chunks, low, range](int64_t chunk) {
    const int64_t begin = PieceBegin(count, chunk, chunks), chunk_end = PieceBegin(count, chunk + 1, chunks);
    Item* to = items + begin;
    for (int64_t i = begin; i < chunk_end; ++i) {
      if (static_cast<Number>(NumberOf(items[i]) - low) <= range) *to++ = items[i];
    }
  });
  Item* to = items + found.front().count;
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const Item* const from = items + PieceBegin(count, chunk, chunks);
    to = std::copy(from, from + found[static_cast<size_t>(chunk)].count, to);
  }
  return sum;
}

template <typename Item>
void SortItemSegments(Item* items, Item* temp, const int64_t* offsets, int64_t segments, int64_t limit,
                      SortAlgorithm algorithm, Parallel& parallel) {
  // All threads share each large segment, one segment after the other. Then each of the others gets one thread.
  const auto is_large = [&](int64_t segment) { return offsets[segment + 1] - offsets[segment] >= 2 * kMinimumChunk; };
  for (int64_t segment = 0; segment < segments; ++segment) {
    if (!is_large(segment)) continue;
    const int64_t begin = offsets[segment];
    const int64_t length = SelectItems(items + begin, offsets[segment + 1] - begin, limit, parallel);
    const Item* result =
        SortItems(items + begin, temp == nullptr ? nullptr : temp + begin, length, algorithm, parallel);
    if (result != items + begin) parallel.Copy(items + begin, result, length * static_cast<int64_t>(sizeof(Item)));
  }
  parallel.ForRange(segments, 16, [&](int64_t segment_begin, int64_t segment_end) {
    Parallel alone(1);
    for (int64_t segment = segment_begin; segment < segment_end; ++segment) {
      if (is_large(segment)) continue;
      const int64_t begin = offsets[segment];
      const int64_t length = SelectItems(items + begin, offsets[segment + 1] - begin, limit, alone);
      if (length <= kInsertionSortMax) {
        InsertionSort(items + begin, length);
      } else {
        SortItems(items + begin, temp == nullptr ? nullptr : temp + begin, length, algorithm, alone);
      }
    }
  });
}

#define CORANK_INSTANTIATE(Item)                                                                                  \
  template bool EndsInTemp<Item>(int64_t, SortAlgorithm, int);                                                    \
  template Item* SortItems<Item>(Item*, Item*, int64_t, SortAlgorithm, Parallel&);                                \
  template void SortItemSegments<Item>(Item*, Item*, const int64_t*, int64_t, int64_t, SortAlgorithm, Parallel&); \
  template int64_t SelectItems<Item>(Item*, int64_t, int64_t, Parallel&);                                         \
  template ItemBand SelectBand<Item>(Item*, int64_t, int64_t, int64_t, Parallel&);
CORANK_INSTANTIATE(uint8_t)
CORANK_INSTANTIATE(uint16_t)
CORANK_INSTANTIATE(uint32_t)
CORANK_INSTANTIATE(uint64_t)
CORANK_INSTANTIATE(Item128)
#undef CORANK_INSTANTIATE

}  // namespace corank::cpu
