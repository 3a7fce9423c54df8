// The arithmetic of Move's bins: the part of the destination that belongs to each bin.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// The number of bins as a 32-bit fixed-point fraction of a word: the greatest one that puts each of `extent` > `bins`
/// words into a bin below `bins`. The bin of a word is then one multiplication.
CORANK_HOST_DEVICE uint32_t BinScale(uint32_t extent, int bins) {
  return static_cast<uint32_t>((static_cast<uint64_t>(bins) << 32) / extent);
}
CORANK_HOST_DEVICE uint32_t BinOf(uint32_t word, uint32_t scale) {
  return static_cast<uint32_t>((uint64_t{word} * scale) >> 32);
}
/// The first word of a bin, or the end of the last bin.
CORANK_HOST_DEVICE uint64_t BinBegin(uint32_t bin, uint32_t scale) {
  return ((uint64_t{bin} << 32) + scale - 1) / scale;
}
/// The largest number of words in a bin.
CORANK_HOST_DEVICE uint32_t MostBinWords(uint32_t scale) {
  return static_cast<uint32_t>((uint64_t{1} << 32) / scale) + 1;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_BINS_H_
