// Sorts floating-point keys by their codes alone, as fast as integers. The result is exact: NaNs and zeros, whose equal
// keys differ in their bits, keep their input order.
#ifndef CORANK_KERNELS_CPU_FLOAT_CODES_H_
#define CORANK_KERNELS_CPU_FLOAT_CODES_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/common/merge_path.h"
#include "kernels/common/types.h"
#include "kernels/cpu/item_sort.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Calls emit(i, is_chosen(i), rank, chosen) for every i in [0, count), in parallel. `rank` is the place of i among the
/// chosen elements, or among the others; `chosen` is the number of chosen elements, which is also the return value.
/// Reads the input of is_chosen twice.
template <typename IsChosen, typename Emit>
int64_t StablePartition(int64_t count, Parallel& parallel, const IsChosen& is_chosen, const Emit& emit) {
  const int64_t pieces = PieceCount(count, int64_t{1} << 14, parallel.threads());
  std::vector<int64_t> chosen_before(static_cast<size_t>(pieces) + 1, 0);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t found = 0;
    const int64_t end = PieceBegin(count, piece + 1, pieces);
    for (int64_t i = PieceBegin(count, piece, pieces); i < end; ++i) found += is_chosen(i);
    chosen_before[static_cast<size_t>(piece) + 1] = found;
  });
  std::partial_sum(chosen_before.begin(), chosen_before.end(), chosen_before.begin());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t rank = chosen_before[static_cast<size_t>(piece)];
    const int64_t end = PieceBegin(count, piece + 1, pieces);
    for (int64_t i = PieceBegin(count, piece, pieces); i < end; ++i) {
      const bool chosen = is_chosen(i);
      emit(i, chosen, chosen ? rank : i - rank, chosen_before.back());
      rank += chosen;
    }
  });
  return chosen_before.back();
}

/// Sorts keys[0, count) into out. temp: see SortItems.
template <typename Bits, typename Ordering>
void SortFloatCodes(const Bits* keys, Bits* out, Bits* temp, int64_t count, Order direction, const Ordering& order,
                    Parallel& parallel) {
  constexpr Bits kHigherZero = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));  // codes of the zeros: neighbours
  constexpr Bits kLowerZero = kHigherZero - 1;
  const auto is_nan = [&](int64_t i) {
    const Bits rank = order.RankOfRaw(keys[i]);
    return order.IsAmbiguous(rank) && rank != kHigherZero;
  };
  // NaNs go to their end of the result directly; numbers become codes at the other end.
  const bool nans_first = direction == Order::kDescending;
  const int64_t nans =
      StablePartition(count, parallel, is_nan, [&](int64_t i, bool nan, int64_t rank, int64_t nan_count) {
        const int64_t begin = nan == nans_first ? 0 : nan ? count - nan_count : nan_count;
        out[begin + rank] = nan ? keys[i] : order.Encode(keys[i]);
      });
  Bits* numbers = nans_first ? out + nans : out;
  const int64_t number_count = count - nans;

  const Bits* sorted = SortItems(numbers, temp, number_count, SortAlgorithm::kRadix, parallel);
  const int64_t zeros_begin = LowerBound(sorted, number_count, kLowerZero, ItemLess());
  const int64_t zeros_end = UpperBound(sorted, number_count, kHigherZero, ItemLess());
  const bool zeros_differ = zeros_begin < zeros_end && sorted[zeros_begin] != sorted[zeros_end - 1];
  parallel.ForRange(number_count, int64_t{1} << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) numbers[i] = order.Decode(sorted[i]);
  });
  if (zeros_differ) {
    StablePartition(
        count, parallel, [&](int64_t i) { return order.RankOfRaw(keys[i]) == kHigherZero; },
        [&](int64_t i, bool zero, int64_t rank, int64_t) {
          if (zero) numbers[zeros_begin + rank] = keys[i];
        });
  }
}

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_FLOAT_CODES_H_
