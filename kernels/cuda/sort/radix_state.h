// What the kernels of a radix sort tell each other.
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

/// Zeroed before the first kernel. The histogram's last block makes the plan; passes read it.
struct RadixState {
  int64_t bins[kMaxDigits][kDigitBins];  // keys with this value of the digit, then keys before the first such key
  int64_t carried[2][kDigitBins];        // the same before each launch of one pass but its first, in turn
  int passes;                            // digits that are not the same in all keys, but at least one
  int digit[kMaxDigits];                 // of each pass
  uint32_t blocks_done;
  /// Whether keys are among them whose code is not their rank: equal keys may have unequal codes.
  uint32_t codes_differ_from_ranks;
};

/// At least the number of tiles that can run at the same time.
constexpr int MostRunningTiles(int multiprocessors, int threads) {
  constexpr int kThreadsOfMultiprocessor = 2048;
  return multiprocessors * (kThreadsOfMultiprocessor / threads);
}
/// Rows of statuses, so that tiles hardly ever wait for one.
constexpr int StatusRows(int most_running_tiles) { return 2 * (most_running_tiles + kTilesPerGroup); }

/// The counts that tiles publish for each other. Tiles of all launches are numbered on; tile t writes row t % rows,
/// which is the row of tile t - rows, and so on. A status is a count and a flag; what the flag means depends on how
/// often the row was written before, so that rows need no clearing.
struct RadixStatuses {
  uint32_t* d_rows = nullptr;      // of kDigitBins statuses
  uint32_t* d_tickets = nullptr;   // of each launch: tiles begun
  uint32_t* d_finished = nullptr;  // of each launch and group of tiles: look-backs done
  int rows = 0;
  /// MostRunningTiles. A tile meets at most this many predecessors that have no prefix yet, for those it meets were
  /// unfinished, and running, when its own look-back began.
  int reach = 0;
  int groups = 0;  // of a launch
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_STATE_H_
