// The data that the kernels of a radix sort share.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_STATE_H_
#define CORANK_KERNELS_CUDA_SORT_RADIX_STATE_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/radix_tuning.h"

namespace corank::cuda {

/// The digits of a key: digit i is the kDigitBits bits from shift[i] on.
struct RadixDigits {
  int count = 0;
  int shift[kMaxDigits] = {};
};

/// The fewest digits that cover the live bits of keys of key_bits bits, least significant first; at least one.
constexpr RadixDigits DigitsOf(uint64_t live_bits, int key_bits) {
  RadixDigits digits;
  int bit = 0;
  while (bit < key_bits) {
    if ((live_bits >> bit & 1) == 0) {
      ++bit;
      continue;
    }
    digits.shift[digits.count++] = bit < key_bits - kDigitBits ? bit : key_bits - kDigitBits;
    bit += kDigitBits;
  }
  if (digits.count == 0) digits.count = 1;
  return digits;
}

/// Zero before the first kernel. The last block of the histogram makes the plan; passes read it.
struct RadixState {
  int64_t bins[kMaxDigits][kDigitBins];  // keys with this value of the digit, then keys before the first of them
  int64_t carried[2][kDigitBins];        // the same before each launch of a pass except the first, alternating
  int passes;                            // digits that differ between keys, but at least one
  int digit[kMaxDigits];                 // of each pass
  uint32_t blocks_done;
  /// Whether some key has a code that is not its rank. Equal keys may then have unequal codes.
  uint32_t codes_differ_from_ranks;
};

/// An upper bound of the tiles that can run at the same time.
constexpr int MostRunningTiles(int multiprocessors, int threads) {
  constexpr int kThreadsOfMultiprocessor = 2048;
  return multiprocessors * (kThreadsOfMultiprocessor / threads);
}
/// Rows of statuses: enough that tiles hardly ever wait for one.
constexpr int StatusRows(int most_running_tiles) { return 2 * (most_running_tiles + kTilesPerGroup); }

/// The counts that tiles publish for each other. Numbers of tiles continue across launches. Tile t writes row t % rows,
/// after tiles t - rows, and so on. A status is a count and a flag. The meaning of the flag depends on how often the
/// row was written before, so that rows need no clearing.
struct RadixStatuses {
  uint32_t* d_rows = nullptr;      // rows of kDigitBins statuses
  uint32_t* d_tickets = nullptr;   // for each launch: tiles begun
  uint32_t* d_finished = nullptr;  // for each launch and group of tiles: look-backs done
  int rows = 0;
  /// MostRunningTiles. A tile meets at most this many predecessors without a prefix, because these were unfinished and
  /// running when its own look-back began.
  int reach = 0;
  int groups = 0;  // for each launch
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_STATE_H_
