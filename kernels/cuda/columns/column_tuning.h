// Sizes of the kernels that sort by columns. The tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_

#include <cstdint>

namespace corank::cuda {

struct ColumnTuning {
  /// Kernels of one thread a row.
  static constexpr int kThreads = 256;
  static constexpr int64_t kMaxBlocks = 132 * 8;  // enough to fill an H200; the rest is a loop

  /// Rows that are looked at first, one for each thread of a block: is it worth looking at all of them?
  static constexpr int kSampleRows = 1024;

  /// The mergesort of rows with equal codes. 16 bytes an item: a tile takes 16 KiB of shared memory.
  static constexpr int kTieThreads = 256;
  static constexpr int kTieItems = 4;
  static constexpr int kTieBlocks = 3;  // that must fit a multiprocessor: bounds the registers
  static constexpr int kTieTile = kTieThreads * kTieItems;

  /// The copy of strings: bytes of the output a thread and a block.
  static constexpr int kStringBytes = 16;
  static constexpr int kStringTile = kThreads * kStringBytes;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_
