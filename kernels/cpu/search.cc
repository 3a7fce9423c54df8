#include "kernels/cpu/search.h"

#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"

namespace corank::cpu {
namespace {

constexpr int64_t kNeedleGrain = int64_t{1} << 10;
// Searches that advance together, so that their cache misses overlap.
constexpr int64_t kTogether = 16;

// For each of `count` needles (count <= kTogether), returns the number of keys that the search passes over, in [0,
// haystack_count]. passes_over(key, needle) is true for a prefix of a sorted haystack.
template <typename Bits, typename PassesOver>
void SearchTogether(const Bits* haystack, int64_t haystack_count, const Bits* needles, int64_t count,
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

}  // namespace

void Search(const SearchArgs& args, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    const Bits* haystack = static_cast<const Bits*>(args.haystack);
    const Bits* needles = static_cast<const Bits*>(args.needles);
    if (args.check_sorted) {
      const int64_t unsorted = FirstUnsorted(haystack, args.haystack_count, order, parallel);
      if (unsorted < args.haystack_count) {
        report->fault = OperatorReport::Fault::kUnsorted;
        report->index = unsorted;
        return;
      }
    }
    WithIndexType(IndexBytes(args.haystack_count), [&](auto zero) {
      using Position = decltype(zero);
      Position* positions = static_cast<Position*>(args.positions_out);
      parallel.ForRange(args.needle_count, kNeedleGrain, [&](int64_t begin, int64_t end) {
        const auto search = [&](const auto& passes_over) {
          int64_t found[kTogether];
          for (int64_t i = begin; i < end; i += kTogether) {
            const int64_t count = std::min(kTogether, end - i);
            SearchTogether(haystack, args.haystack_count, needles + i, count, passes_over, found);
            for (int64_t j = 0; j < count; ++j) positions[i + j] = static_cast<Position>(found[j]);
          }
        };
        if (args.bound == SearchBound::kLower) {
          search([&](Bits key, Bits needle) { return order.Before(key, needle); });
        } else {
          search([&](Bits key, Bits needle) { return !order.Before(needle, key); });
        }
      });
    });
  });
}

}  // namespace corank::cpu
