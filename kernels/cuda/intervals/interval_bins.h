// The arithmetic of Move's bins: which part of the destination each holds.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// Bins as a 32-bit fixed-point fraction of a word: the greatest that gives each of `extent` > `bins` words a bin below
/// `bins`. One multiplication then finds the bin of a word.
CORANK_HOST_DEVICE uint32_t BinScale(uint32_t extent, int bins) {
  return static_cast<uint32_t>((static_cast<uint64_t>(bins) << 32) / extent);
}
CORANK_HOST_DEVICE uint32_t BinOf(uint32_t word, uint32_t scale) {
  return static_cast<uint32_t>((uint64_t{word} * scale) >> 32);
}
/// The least word of a bin, and of the one behind the last.
CORANK_HOST_DEVICE uint64_t BinBegin(uint32_t bin, uint32_t scale) {
  return ((uint64_t{bin} << 32) + scale - 1) / scale;
}
/// No bin has more words.
CORANK_HOST_DEVICE uint32_t MostBinWords(uint32_t scale) {
  return static_cast<uint32_t>((uint64_t{1} << 32) / scale) + 1;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_
