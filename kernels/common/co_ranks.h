// Cuts a stable merge of several sorted inputs: the k-way co-rank, on the host.
#ifndef CORANK_KERNELS_COMMON_CO_RANKS_H_
#define CORANK_KERNELS_COMMON_CO_RANKS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/common/merge_path.h"
#include "kernels/common/operators.h"

namespace corank {

/// The keys of an input in host memory, at any alignment, from key `first` on.
template <typename Bits>
class KeysFrom {
 public:
  KeysFrom(const MergeInput& input, int64_t first)
      : bytes_(static_cast<const char*>(input.keys) + first * static_cast<int64_t>(sizeof(Bits))) {}
  Bits operator[](int64_t i) const {
    Bits key;
    std::memcpy(&key, bytes_ + i * static_cast<int64_t>(sizeof(Bits)), sizeof(key));
    return key;
  }

 private:
  const char* const bytes_;
};

/// Given the position in each input at which a piece begins, finds the positions `steps` outputs later. Results lie
/// between `begin` and the input's end for any keys: unsorted inputs lead to a wrong order, but never to an access out
/// of bounds. `low` and `high` are scratch space of `input_count` elements each.
template <typename Bits, typename Ordering>
void CoRanks(const MergeInput* inputs, int32_t input_count, const Ordering& order, const int64_t* begin, int64_t steps,
             int64_t* low, int64_t* high, int64_t* end) {
  const auto before = [&](Bits a, Bits b) { return order.Before(a, b); };
  if (input_count == 2) {
    const int64_t from_a = CoRank(steps, KeysFrom<Bits>(inputs[0], begin[0]), inputs[0].count - begin[0],
                                  KeysFrom<Bits>(inputs[1], begin[1]), inputs[1].count - begin[1], before);
    end[0] = begin[0] + from_a;
    end[1] = begin[1] + steps - from_a;
    return;
  }
  // In every input, the answer lies between low and high. The middle of the widest range becomes the pivot, and `end`
  // the number of elements of each input that come before the pivot: a new bound for all ranges.
  int64_t low_steps = 0;
  int64_t high_steps = 0;
  for (int32_t i = 0; i < input_count; ++i) {
    low[i] = begin[i];
    high[i] = inputs[i].count;
    high_steps += high[i] - begin[i];
  }
  while (low_steps < steps && steps < high_steps) {
    int32_t widest = 0;
    for (int32_t i = 1; i < input_count; ++i) {
      if (high[i] - low[i] > high[widest] - low[widest]) widest = i;
    }
    const int64_t middle = low[widest] + (high[widest] - low[widest]) / 2;
    const Bits pivot = KeysFrom<Bits>(inputs[widest], 0)[middle];
    int64_t pivot_steps = 0;
    for (int32_t i = 0; i < input_count; ++i) {
      const KeysFrom<Bits> keys(inputs[i], low[i]);
      const int64_t count = high[i] - low[i];
      end[i] = i == widest ? middle
                           : low[i] + (i < widest ? UpperBound(keys, count, pivot, before)
                                                  : LowerBound(keys, count, pivot, before));
      pivot_steps += end[i] - begin[i];
    }
    if (pivot_steps < steps) {
      ++end[widest];  // the pivot itself is one of the first `steps` outputs
      std::copy(end, end + input_count, low);
      low_steps = pivot_steps + 1;
    } else {
      std::copy(end, end + input_count, high);
      high_steps = pivot_steps;
    }
  }
  const int64_t* answer = low_steps == steps ? low : high;
  std::copy(answer, answer + input_count, end);
}

/// Whether the cuts that SplitRuns has found divide the inputs: each input's cuts ascend within it, and each cut has as
/// many outputs before it as wanted. Cuts of sorted inputs always do; cuts of unsorted inputs may not.
inline bool SplitsFit(const SplitArgs& args) {
  for (int64_t cut = 0; cut < args.position_count; ++cut) {
    const int64_t* const splits = args.splits + cut * args.input_count;
    int64_t sum = 0;
    for (int32_t i = 0; i < args.input_count; ++i) {
      const int64_t least = cut == 0 ? 0 : splits[i - args.input_count];
      if (splits[i] < least || splits[i] > args.inputs[i].count) return false;
      sum += splits[i];
    }
    if (sum != args.positions[cut]) return false;
  }
  return true;
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_CO_RANKS_H_
