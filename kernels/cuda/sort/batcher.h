// Batcher's odd-even mergesort network, for any n: which positions each step compares. Pure arithmetic.
//
// Steps (p, k) run for p = 1, 2, 4, ... < n and, in each, k = p, p/2, ..., 1. After the steps of p, every block of 2p
// positions is sorted. A comparator of step (p, k) puts the lesser of positions x and x + k at x; comparators of one
// step touch disjoint positions, so a step's order does not matter. Comparators that reach past n are left out: the
// positions from n on act as keys that come after every other and never move.
//
// Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; Knuth, TAOCP 3, 5.2.2 and 5.3.4.
#ifndef CORANK_KERNELS_CUDA_SORT_BATCHER_H_
#define CORANK_KERNELS_CUDA_SORT_BATCHER_H_

#include "kernels/common/types.h"

namespace corank::cuda {

/// The lower position of comparator c = 0, 1, ... of step (p, k). Rising in c. p and k are powers of two, k <= p.
template <typename Index>
CORANK_HOST_DEVICE Index BatcherLower(Index c, Index p, Index k) {
  return (c & ~(k - 1)) * 2 + (c & (k - 1)) + (k == p ? Index{0} : k);
}

/// Whether positions x and x + k, with x from BatcherLower, belong to the same block of 2p: comparators of step (p, k)
/// never leave a block.
template <typename Index>
CORANK_HOST_DEVICE bool BatcherInBlock(Index x, Index p, Index k) {
  return (x & (2 * p - 1)) + k < 2 * p;
}

/// Whether x is the lower position of a comparator of step (p, k).
template <typename Index>
CORANK_HOST_DEVICE constexpr bool IsBatcherLower(Index x, Index p, Index k) {
  return k == p ? (x & p) == 0 : (x & k) != 0 && (x & (2 * p - 1)) + k < 2 * p;
}

/// How the last steps of one p, k = kWindow / 16 down to 1, are fused in a window of kWindow positions that sits in
/// shared memory. A position depends on positions at most k + k/2 + ... + 1 < 2k away, so the middle of a window comes
/// out right although its ends do not: windows overlap by their halos and cores tile the array.
template <int kWindow>
struct BatcherWindow {
  static_assert((kWindow & (kWindow - 1)) == 0 && kWindow >= 16, "steps are powers of two");
  static constexpr int kFirstStep = kWindow / 16;
  static constexpr int kHalo = 2 * kFirstStep;
  static constexpr int kCore = kWindow - 2 * kHalo;
  static_assert(kCore % kHalo == 0, "windows start at multiples of 2k for every fused k");
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_BATCHER_H_
