#include "kernels/cpu/search.h"

#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/common/row_order.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"

namespace corank::cpu {
namespace {

constexpr int64_t kNeedleGrain = int64_t{1} << 10;
// Searches that advance together, so that their cache misses overlap.
constexpr int64_t kTogether = 16;

// The rows of a table: their numbers.
struct Rows {
  int64_t first = 0;
  int64_t operator[](int64_t i) const { return first + i; }
  Rows operator+(int64_t rows) const { return {first + rows}; }
};

// For each of `count` needles (count <= kTogether), finds how many elements of the haystack the search passes over, in
// [0, haystack_count]. passes_over(element, needle) is true for a prefix of a sorted haystack.
// Elements: a pointer to keys, or Rows. Inline: as a call, it takes a tenth longer (u32, 2^10 and 2^16 keys).
template <typename Elements, typename PassesOver>
__attribute__((always_inline)) inline void SearchTogether(const Elements haystack, int64_t haystack_count,
                                                          const Elements needles, int64_t count,
                                                          const PassesOver& passes_over, int64_t* positions) {
  std::fill(positions, positions + count, int64_t{0});
  int64_t length = haystack_count;
  for (; length > 1; length -= length / 2) {
    const int64_t half = length / 2;
    for (int64_t i = 0; i < count; ++i) {
      positions[i] += half * static_cast<int64_t>(passes_over(haystack[positions[i] + half - 1], needles[i]));
    }
  }
  for (int64_t i = 0; i < count && length == 1; ++i) {
    positions[i] += static_cast<int64_t>(passes_over(haystack[positions[i]], needles[i]));
  }
}

// Args: SearchArgs or ColumnSearchArgs.
template <typename Args, typename Elements, typename PassesOver>
void SearchAll(const Args& args, const Elements haystack, const Elements needles, Parallel& parallel,
               const PassesOver& passes_over) {
  WithIndexType(IndexBytes(args.haystack_count), [&](auto zero) {
    using Position = decltype(zero);
    Position* positions = static_cast<Position*>(args.positions_out);
    parallel.ForRange(args.needle_count, kNeedleGrain, [&](int64_t begin, int64_t end) {
      int64_t found[kTogether];
      for (int64_t i = begin; i < end; i += kTogether) {
        const int64_t count = std::min(kTogether, end - i);
        SearchTogether(haystack, args.haystack_count, needles + i, count, passes_over, found);
        for (int64_t j = 0; j < count; ++j) positions[i + j] = static_cast<Position>(found[j]);
      }
    });
  });
}

// Whether all elements of the haystack are in order. Reports the first one that is not.
bool IsSorted(int64_t unsorted, int64_t haystack_count, OperatorReport* report) {
  if (unsorted == haystack_count) return true;
  report->fault = OperatorReport::Fault::kUnsorted;
  report->index = unsorted;
  return false;
}

}  // namespace

void Search(const SearchArgs& args, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    const Bits* haystack = static_cast<const Bits*>(args.haystack);
    const Bits* needles = static_cast<const Bits*>(args.needles);
    if (args.check_sorted &&
        !IsSorted(FirstUnsorted(haystack, args.haystack_count, order, parallel), args.haystack_count, report)) {
      return;
    }
    if (args.bound == SearchBound::kLower) {
      SearchAll(args, haystack, needles, parallel, [&](Bits key, Bits needle) { return order.Before(key, needle); });
    } else {
      SearchAll(args, haystack, needles, parallel, [&](Bits key, Bits needle) { return !order.Before(needle, key); });
    }
  });
}

void SearchColumns(const ColumnSearchArgs& args, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  const RowOrder haystack(args.haystack, args.column_count, args.needles);
  const RowOrder needles(args.needles, args.column_count, args.haystack);
  if (args.check_sorted) {
    const int64_t unsorted = FirstOutOfOrder(args.haystack_count, parallel,
                                             [&](int64_t row) { return haystack.Compare(row - 1, row, 0) > 0; });
    if (!IsSorted(unsorted, args.haystack_count, report)) return;
  }
  const int most = args.bound == SearchBound::kLower ? -1 : 0;  // of comparisons with rows that the search passes over
  SearchAll(args, Rows(), Rows(), parallel,
            [&](int64_t row, int64_t needle) { return haystack.Compare(row, needles, needle, 0) <= most; });
}

}  // namespace corank::cpu
