// The division of BulkMerge's output into sections, which blocks take one after the other. Arithmetic for host and
// device.
#ifndef CORANK_KERNELS_CUDA_MERGE_BULK_SECTIONS_H_
#define CORANK_KERNELS_CUDA_MERGE_BULK_SECTIONS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// Sections of `long_tiles` tiles, followed by about four sections of `short_tiles` tiles for each block, so that all
/// blocks end at about the same time. Sections have one tile if there are hardly more tiles than blocks.
class BulkSections {
 public:
  BulkSections() = default;
  BulkSections(int64_t tiles, int64_t blocks, int long_tiles, int short_tiles)
      : long_tiles_(long_tiles), short_tiles_(tiles <= blocks * short_tiles ? 1 : short_tiles) {
    const int64_t last = blocks * 4 * short_tiles_;
    long_count_ = std::max(int64_t{0}, tiles - last) / long_tiles_;
    count_ = long_count_ + (tiles - long_count_ * long_tiles_ + short_tiles_ - 1) / short_tiles_;
  }

  int64_t count() const { return count_; }
  /// The first tile of a section. After the last section: the number of tiles, or more.
  CORANK_HOST_DEVICE int64_t Begin(int64_t section) const {
    const int64_t of_long = section < long_count_ ? section : long_count_;
    return of_long * long_tiles_ + (section - of_long) * short_tiles_;
  }

 private:
  int64_t long_count_ = 0, count_ = 0;
  int long_tiles_ = 1, short_tiles_ = 1;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_BULK_SECTIONS_H_
