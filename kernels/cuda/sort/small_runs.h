// The runs that the first launch of the small sort leaves for the second one, and their samples. Pure arithmetic.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_RUNS_H_
#define CORANK_KERNELS_CUDA_SORT_SMALL_RUNS_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {

/// Sorted runs of `tile` elements (the last may be shorter), one after the other. Each run has kSmallSamples samples:
/// one key of each window of `tile / kSmallSamples` keys. Samples past the end of the last run are the greatest key.
template <typename Key>
struct SmallRuns {
  Key* keys;
  uint32_t* indices;  // null unless elements have an index beside the key
  Key* samples;
  int count;  // of all elements
  int tile;
  int run_count;

  CORANK_HOST_DEVICE int Window() const { return tile / kSmallSamples; }
  CORANK_HOST_DEVICE int RunLength(int run) const { return Min(tile, count - run * tile); }
  /// The offset of a run's sample in its window. It varies from run to run, so that similar runs are not all sampled
  /// alike.
  CORANK_HOST_DEVICE int SampleOffset(int run) const {
    return static_cast<int>(((static_cast<uint32_t>(run) * 0x9E3779B1u) >> 16) * static_cast<uint32_t>(Window()) >> 16);
  }
  CORANK_HOST_DEVICE int SamplePosition(int run, int sample) const { return sample * Window() + SampleOffset(run); }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_RUNS_H_
