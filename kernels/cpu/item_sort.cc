#include "kernels/cpu/item_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/common/merge_path.h"
#include "kernels/cpu/item_merge.h"

namespace corank::cpu {
namespace {

// Below this, starting VQSort costs more than it saves.
constexpr int64_t kInsertionSortMax = 24;
// A chunk that one thread sorts alone: VQSort loses little down to here, and starting a task costs a few microseconds.
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

void CountingSort(uint8_t* items, int64_t count, Parallel& parallel) {
  std::array<int64_t, 256> histogram{};
  std::mutex mutex;
  parallel.ForRange(count, kMinimumChunk, [&](int64_t begin, int64_t end) {
    // Several tables: runs of one key would otherwise wait for their own stores.
    std::array<std::array<int64_t, 256>, 4> tables{};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
      uint64_t keys;
      std::memcpy(&keys, items + i, sizeof(keys));
      for (size_t byte = 0; byte < 8; ++byte) ++tables[byte % 4][keys >> (8 * byte) & 0xFF];
    }
    for (; i < end; ++i) ++tables[0][items[i]];
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& table : tables) {
      for (size_t key = 0; key < 256; ++key) histogram[key] += table[key];
    }
  });
  int64_t begin = 0;
  for (size_t key = 0; key < 256; ++key) {
    std::fill_n(items + begin, histogram[key], static_cast<uint8_t>(key));
    begin += histogram[key];
  }
}

template <typename Item>
void QuickSort(Item* items, int64_t count) {
  if (count <= kInsertionSortMax) return InsertionSort(items, count);
  if constexpr (sizeof(Item) == 1) {
    Parallel alone(1);
    CountingSort(items, count, alone);
  } else {
    hwy::Sorter()(items, static_cast<size_t>(count), hwy::SortAscending());
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
// Every piece of the output is of equal size and found by co-rank, whatever the runs look like.
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
      MergeInto(to + begin, a, a_begin, a_end, b, first - a_begin, last - a_end);
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
  if constexpr (sizeof(Item) == 1) {
    if (algorithm != SortAlgorithm::kMergesort) {
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
void SortItemSegments(Item* items, Item* temp, const int64_t* offsets, int64_t segments, SortAlgorithm algorithm,
                      Parallel& parallel) {
  // Segments that are worth all threads, one after the other; then the others, each on one thread.
  const auto is_large = [&](int64_t segment) { return offsets[segment + 1] - offsets[segment] >= 2 * kMinimumChunk; };
  for (int64_t segment = 0; segment < segments; ++segment) {
    if (!is_large(segment)) continue;
    const int64_t begin = offsets[segment];
    const int64_t length = offsets[segment + 1] - begin;
    const Item* result =
        SortItems(items + begin, temp == nullptr ? nullptr : temp + begin, length, algorithm, parallel);
    if (result != items + begin) parallel.Copy(items + begin, result, length * static_cast<int64_t>(sizeof(Item)));
  }
  parallel.ForRange(segments, 16, [&](int64_t segment_begin, int64_t segment_end) {
    Parallel alone(1);
    for (int64_t segment = segment_begin; segment < segment_end; ++segment) {
      if (is_large(segment)) continue;
      const int64_t begin = offsets[segment];
      const int64_t length = offsets[segment + 1] - begin;
      if (length <= kInsertionSortMax) {
        InsertionSort(items + begin, length);
      } else {
        SortItems(items + begin, temp == nullptr ? nullptr : temp + begin, length, algorithm, alone);
      }
    }
  });
}

template <typename Item>
int64_t SelectItems(Item* items, int64_t count, int64_t limit, Parallel& parallel) {
  const int64_t chunks = ChunkCount(count, parallel.threads());
  if (limit >= count / chunks) return count;
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

#define CORANK_INSTANTIATE(Item)                                                                         \
  template Item* SortItems<Item>(Item*, Item*, int64_t, SortAlgorithm, Parallel&);                       \
  template void SortItemSegments<Item>(Item*, Item*, const int64_t*, int64_t, SortAlgorithm, Parallel&); \
  template int64_t SelectItems<Item>(Item*, int64_t, int64_t, Parallel&);
CORANK_INSTANTIATE(uint8_t)
CORANK_INSTANTIATE(uint16_t)
CORANK_INSTANTIATE(uint32_t)
CORANK_INSTANTIATE(uint64_t)
CORANK_INSTANTIATE(Item128)
#undef CORANK_INSTANTIATE

}  // namespace corank::cpu
