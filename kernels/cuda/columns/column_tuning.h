// Sizes of the kernels that sort by columns. The tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_

#include <cstdint>

namespace corank::cuda {

struct ColumnTuning {
  /// Kernels with one thread for each row.
  static constexpr int kThreads = 256;

  /// Rows of the sample, one for each thread of a block. It decides whether all rows are worth a survey.
  static constexpr int kSampleRows = 1024;

  /// More runs than this are sorted instead of merged.
  static constexpr int32_t kMostMergedRuns = 32;

  /// The mergesort of rows with equal codes. Items have 16 bytes, so a tile takes 16 KiB of shared memory.
  static constexpr int kTieThreads = 256;
  static constexpr int kTieItems = 4;
  static constexpr int kTieBlocks = 3;  // that must fit on a multiprocessor: limits the registers
  static constexpr int kTieTile = kTieThreads * kTieItems;

  /// Positions of a thread and of a block that rank sorted rows.
  static constexpr int kRankItems = 8;
  static constexpr int kRankTile = kThreads * kRankItems;

  /// A search writes down the words (search_rows.cu) of a haystack with at most so many rows, and so many rows for each
  /// needle. Few enough rows that their words need not be planned for.
  static constexpr int64_t kMostWords = int64_t{1} << 19;
  static constexpr int64_t kWordsForNeedle = 4;

  /// The copy of strings: output bytes for each thread and each block.
  static constexpr int kStringBytes = 16;
  static constexpr int kStringTile = kThreads * kStringBytes;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_TUNING_H_
