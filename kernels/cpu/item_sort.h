// Sorts items: unsigned integers whose equal values are identical, so that every sort of them is stable.
//
// An item is the code of a key, or the rank of a key above its index (64 or 128 bits).
#ifndef CORANK_KERNELS_CPU_ITEM_SORT_H_
#define CORANK_KERNELS_CPU_ITEM_SORT_H_

#include <hwy/base.h>

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// hi is the more significant half.
using Item128 = hwy::uint128_t;

/// An item as a number of the language.
template <typename Item>
Item NumberOf(Item item) {
  return item;
}
inline unsigned __int128 NumberOf(const Item128& item) {
  return static_cast<unsigned __int128>(item.hi) << 64 | item.lo;
}

struct ItemLess {
  template <typename Item>
  bool operator()(const Item& a, const Item& b) const {
    return NumberOf(a) < NumberOf(b);
  }
};

/// Whether SortItems and SortItemSegments use `temp`.
bool NeedsTemp(int64_t count, SortAlgorithm algorithm, int threads);

/// Whether SortItems leaves its result in `temp`.
template <typename Item>
bool EndsInTemp(int64_t count, SortAlgorithm algorithm, int threads);

/// Sorts items[0, count) in ascending order and returns the place of the result: items or temp (`count` items, or null
/// if NeedsTemp is false). `algorithm`:
///   - kRadix: VQSort on one chunk for each thread (8-bit items, and many 16-bit items: counting), then merge-path
///     passes
///   - kMergesort: bottom-up mergesort on chunks, then merge-path passes
///   - kOddEvenMergesort: Batcher's network (Knuth, vol. 3, algorithm 5.2.2M), for any count
template <typename Item>
Item* SortItems(Item* items, Item* temp, int64_t count, SortAlgorithm algorithm, Parallel& parallel);

/// Sorts each items[offsets[s], offsets[s + 1]) in place, or only its first `limit` results. temp: as above, for the
/// whole array.
template <typename Item>
void SortItemSegments(Item* items, Item* temp, const int64_t* offsets, int64_t segments, int64_t limit,
                      SortAlgorithm algorithm, Parallel& parallel);

/// Moves the `limit` least of items[0, count), and perhaps others, to the front, unordered. Returns the number of items
/// moved: at least min(limit, count), and `count` where SortItems would sort all as fast.
template <typename Item>
int64_t SelectItems(Item* items, int64_t count, int64_t limit, Parallel& parallel);

/// Items that are neighbours in sorted order.
struct ItemBand {
  int64_t below = 0;  // items before them in that order
  int64_t count = 0;
};

/// Moves to the front, unordered, items among which are those at [first, end) of the sorted order: all of
/// items[0, count) if a sample does not bound them well. 0 <= first < end <= count. Allocates the sample, at most
/// 2^20 items (16 MiB), beside the workspace.
template <typename Item>
ItemBand SelectBand(Item* items, int64_t count, int64_t first, int64_t end, Parallel& parallel);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_ITEM_SORT_H_
