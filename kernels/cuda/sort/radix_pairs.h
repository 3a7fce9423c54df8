// Pairs of a key and a payload of 4 bytes each, as words of 8 bytes, and their arrays between the passes of the radix
// sort.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_PAIRS_H_
#define CORANK_KERNELS_CUDA_SORT_RADIX_PAIRS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// An array of pairs in up to three places, with the key in the low half of each pair. Passes alternate between the
/// outputs, which are two arrays: half of the pairs lie in one, half in the other.
struct PairArray {
  static constexpr int kParts = 3;
  /// Pair i is at parts[p] + i, where p is the first part with i < ends[p], or the last one.
  uint64_t* parts[kParts] = {};
  int64_t ends[kParts - 1] = {};

  CORANK_HOST_DEVICE uint64_t* Place(int64_t i) const {
    return (i < ends[0] ? parts[0] : i < ends[1] ? parts[1] : parts[2]) + i;
  }
  /// Whether the `count` > 0 pairs from `start` on are contiguous in memory.
  CORANK_HOST_DEVICE bool IsWhole(int64_t start, int64_t count) const {
    return Place(start + count - 1) - Place(start) == count - 1;
  }
};

/// Most pairs that PairsIn leaves over.
inline constexpr int64_t kSparePairs = 2;

/// `count` pairs in the memory of two arrays of `count` words of 4 bytes. Pairs that do not fit, because an array
/// begins or ends in the middle of one, lie in `spare`.
inline PairArray PairsIn(void* first, void* second, uint64_t* spare, int64_t count) {
  constexpr auto kPairBytes = static_cast<int64_t>(sizeof(uint64_t));
  PairArray pairs;
  int64_t end = 0;
  const auto add = [&](int part, void* array) {
    const auto address = reinterpret_cast<uintptr_t>(array);
    const auto skipped = static_cast<int64_t>(address % sizeof(uint64_t));
    pairs.parts[part] = reinterpret_cast<uint64_t*>(address + static_cast<uintptr_t>(skipped)) - end;
    end += (count * kPairBytes / 2 - skipped) / kPairBytes;
    pairs.ends[part] = end;
  };
  add(0, first);
  add(1, second);
  pairs.parts[2] = spare - end;
  return pairs;
}

/// The arrays of passes that read and write pairs. Pass p of P writes `last` if P - 1 - p is even, otherwise `near`.
struct RadixPairArrays {
  PairArray near, last;

  CORANK_HOST_DEVICE const PairArray& Input(int pass, int passes) const {
    return (passes - 1 - pass) % 2 == 0 ? near : last;
  }
  CORANK_HOST_DEVICE const PairArray& Output(int pass, int passes) const {
    return (passes - 1 - pass) % 2 == 0 ? last : near;
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_PAIRS_H_
