// Batcher's odd-even mergesort network for any n: the positions that each step compares. Pure arithmetic.
//
// Steps (p, k) run for p = 1, 2, 4, ... < n and, for each p, k = p, p/2, ..., 1. After the steps of p, every block of
// 2p positions is sorted. A comparator of step (p, k) puts the lesser of positions x and x + k at x. Comparators of one
// step touch disjoint positions, so they may run in any order. Comparators that reach past n are omitted: the positions
// from n on act as keys that come after all others and never move.
//
// Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; Knuth, TAOCP 3, 5.2.2 and 5.3.4.
#ifndef CORANK_KERNELS_CUDA_SORT_BATCHER_H_
#define CORANK_KERNELS_CUDA_SORT_BATCHER_H_

#include "kernels/common/types.h"

namespace corank::cuda {

/// The lower position of comparator c = 0, 1, ... of step (p, k). Increases with c. p and k are powers of two, k <= p.
template <typename Index>
CORANK_HOST_DEVICE Index BatcherLower(Index c, Index p, Index k) {
  return (c & ~(k - 1)) * 2 + (c & (k - 1)) + (k == p ? Index{0} : k);
}

/// Whether positions x and x + k, with x from BatcherLower, belong to the same block of 2p. Comparators of step (p, k)
/// never cross blocks.
template <typename Index>
CORANK_HOST_DEVICE bool BatcherInBlock(Index x, Index p, Index k) {
  return (x & (2 * p - 1)) + k < 2 * p;
}

/// Whether x is the lower position of a comparator of step (p, k).
template <typename Index>
CORANK_HOST_DEVICE constexpr bool IsBatcherLower(Index x, Index p, Index k) {
  return k == p ? (x & p) == 0 : (x & k) != 0 && (x & (2 * p - 1)) + k < 2 * p;
}

/// The position of a window that starts at `start` among the blocks of 2p, in int arithmetic. Windows have at most 2^28
/// positions.
class BatcherBlocks {
 public:
  CORANK_HOST_DEVICE BatcherBlocks(int64_t start, int64_t p) {
    constexpr int64_t kLongest = int64_t{1} << 30;  // equivalent to any longer block for a window that meets one end
    const int64_t length = 2 * p < kLongest ? 2 * p : kLongest;
    const int64_t left = 2 * p - (start & (2 * p - 1));  // until the end of the block
    mask_ = static_cast<int>(length - 1);
    shift_ = static_cast<int>(left < length ? length - left : 0);
  }
  /// BatcherInBlock for the window's position x.
  CORANK_HOST_DEVICE bool Contain(int x, int k) const { return ((x + shift_) & mask_) + k <= mask_; }

 private:
  int shift_, mask_;
};

/// Fuses the steps k = kRows / 16 down to 1 of one p in a window of kRows rows in shared memory. A row depends on rows
/// at most k + k/2 + ... + 1 < 2k away, so the middle of a window is right although its ends are not: windows overlap
/// by their halos, and their cores tile the array.
template <int kRows>
struct BatcherWindow {
  static_assert((kRows & (kRows - 1)) == 0 && kRows >= 16, "steps are powers of two");
  static constexpr int kFirstStep = kRows / 16;
  static constexpr int kHalo = 2 * kFirstStep;
  static constexpr int kCore = kRows - 2 * kHalo;
  static_assert(kCore % kHalo == 0, "windows start at multiples of 2k for every fused k");
};

/// One pass over the array that does steps (p, first_step) to (p, stride). It views the array as rows of `stride`
/// positions. Positions in different columns are never compared, so a window may be a few rows of a few columns.
struct BatcherPass {
  int64_t p;
  int64_t first_step;
  int64_t stride;
  int64_t halo, core;  // of a window, in rows
};

/// Calls fn(BatcherPass) for all passes after the sort of windows of kWindow positions. Passes of stride 1 have windows
/// of kWindow rows, others of kRows. The first steps of each p stay within blocks of 2p; a window contains whole blocks
/// and needs no halo.
template <int kWindow, int kRows, typename Fn>
void ForEachBatcherPass(int64_t count, Fn fn) {
  using Last = BatcherWindow<kWindow>;
  using Strided = BatcherWindow<kRows>;
  for (int64_t p = kWindow; p < count; p *= 2) {
    int64_t k = p;
    while (k > Last::kFirstStep) {
      const bool whole = k == p;
      int64_t stride = k / (whole ? kRows / 2 : Strided::kFirstStep);
      if (stride < 2 * Last::kFirstStep) stride = 2 * Last::kFirstStep;
      fn(BatcherPass{p, k, stride, whole ? 0 : Strided::kHalo, whole ? kRows : Strided::kCore});
      k = stride / 2;
    }
    fn(BatcherPass{p, k, 1, Last::kHalo, Last::kCore});
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_BATCHER_H_
