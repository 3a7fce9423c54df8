// Sizes of the small sort. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_SORT_TUNING_H_
#define CORANK_KERNELS_CUDA_SORT_SMALL_SORT_TUNING_H_

#include <cstdint>

namespace corank::cuda {

/// The elements of the sort. Equal elements are identical, or there are none, so that the sort need not be stable.
enum class SmallForm {
  kRank32,       // keys of up to 4 bytes, without a payload: the rank
  kRank64,       // keys of 8 bytes, without a payload: the rank
  kRankIndex32,  // keys of up to 4 bytes: rank * 2^32 + index
  kRankIndex64   // keys of 8 bytes: the rank, and the index beside it
};

/// Samples of each run.
inline constexpr int kSmallSamples = 32;
/// A block of the second launch holds this many times a run, because samples cut runs only roughly into equal parts.
inline constexpr int kSmallSlack = 2;
/// A cluster: its blocks (any GPU with clusters supports 8), the threads of a block, the elements of a thread in the
/// shorter and in the longer cluster, and the most elements that one sorts.
inline constexpr int kSmallClusterBlocks = 8;
inline constexpr int kSmallClusterThreads = 256;
inline constexpr int kSmallClusterItems[] = {2, 4};
constexpr int SmallClusterCount(int items) { return kSmallClusterBlocks * kSmallClusterThreads * items; }

/// Two launches: the longest run, and the most runs.
inline constexpr int kSmallLongestRun = 4096;
inline constexpr int kSmallMostRuns = 264;

/// Arrays of one launch that sorts many. Their addresses and counts are parameters of the kernel, at most 4 KiB.
inline constexpr int kSmallArrays = 128;
inline constexpr int kSmallArrayItems = 4;

enum class SmallShape { kOneBlock, kOneCluster, kTwoLaunches };

/// The plan for a sort of `count` elements. `run`: elements that a block sorts first, a power of two and a multiple of
/// kSmallSamples. `items`: elements of each thread.
struct SmallPlan {
  SmallShape shape;
  int run;
  int items;
};

/// The small sort takes up to this many elements; above it, other sorts are faster. The limit is the longest runs in as
/// many blocks as an H200 holds at a time: two on each of its 132 multiprocessors if elements are ranks alone, one if
/// an index makes them longer. Measured on an H200.
constexpr int64_t SmallSortLimit(SmallForm form) {
  const bool is_rank = form == SmallForm::kRank32 || form == SmallForm::kRank64;
  return (is_rank ? kSmallMostRuns : kSmallMostRuns / 2) * int64_t{kSmallLongestRun};
}

/// The form for a sort of `count` keys. Ranks do not determine the bits of all float keys. These bits are fetched by
/// index or, for larger counts, restored in two more launches (float_bits.h).
constexpr SmallForm SmallFormFor(int key_bytes, bool is_float, bool has_payload, int64_t count) {
  const SmallForm with_index = key_bytes == 8 ? SmallForm::kRankIndex64 : SmallForm::kRankIndex32;
  if (has_payload || (is_float && count <= SmallSortLimit(with_index))) return with_index;
  return key_bytes == 8 ? SmallForm::kRank64 : SmallForm::kRank32;
}

/// One block while that is fastest. Then one cluster on GPUs that have them (sm_90 and later): it costs about 1 us more
/// than one block, and a second launch 2 to 4 us more. Two launches have enough runs to fill the GPU, but at most 264,
/// since each block examines the samples of all. Measured on an H200. `shared_bytes`: the shared memory that a block
/// may use; the longest runs with an index need more than GPUs with 99 KiB have. 0 < count <= SmallSortLimit(form).
constexpr SmallPlan SmallPlanFor(int64_t count, SmallForm form, bool has_clusters, int shared_bytes) {
  const bool narrow = form == SmallForm::kRank32;
  const int one_block = narrow ? 2048 : 1024;
  if (count <= one_block) return {SmallShape::kOneBlock, one_block, 4};
  for (const int items : kSmallClusterItems) {
    if (has_clusters && count <= SmallClusterCount(items)) {
      return {SmallShape::kOneCluster, kSmallClusterThreads * items, items};
    }
  }
  if (count <= 1 << 13 && !narrow) return {SmallShape::kTwoLaunches, 256, 4};
  if (count <= 1 << 15) return {SmallShape::kTwoLaunches, 512, 4};
  if (count <= 1 << 17) return {SmallShape::kTwoLaunches, 1024, 4};
  const bool has_room = form != SmallForm::kRankIndex64 || shared_bytes > 99 * 1024;
  if (count <= 1 << 18 || !has_room) return {SmallShape::kTwoLaunches, 2048, 4};
  return {SmallShape::kTwoLaunches, kSmallLongestRun, 8};
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_SORT_TUNING_H_
