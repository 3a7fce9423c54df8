// The arguments of the segmented sort's kernels.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_PASS_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_PASS_H_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/sort/segment_plan.h"

namespace corank::cuda {

template <typename Bits>
struct SegmentPass {
  KeyOrder<Bits, false> order;
  int64_t count;
  const Bits* keys_in;     // raw
  const void* payload_in;  // null: the key's index
  int payload_bytes;       // 0, 4 or 8
  bool keys_wanted;
  // The results, and the output of passes followed by an odd number of passes. Keys are codes until the last pass.
  Bits *keys, *odd_keys;
  void *payload, *odd_payload;
  SegmentPlan plan;
  uint32_t* splits;       // kMergeWays elements for each window
  uint32_t* high_splits;  // the upper halves of splits; null if there are none

  /// The output of the pass that `left` passes follow.
  CORANK_HOST_DEVICE Bits* KeysAt(int left) const { return left % 2 == 0 ? keys : odd_keys; }
  CORANK_HOST_DEVICE void* PayloadAt(int left) const { return left % 2 == 0 ? payload : odd_payload; }

  CORANK_HOST_DEVICE void SetSplit(int64_t index, int64_t split) const {
    splits[index] = static_cast<uint32_t>(split);
    if (high_splits != nullptr) high_splits[index] = static_cast<uint32_t>(split >> 32);
  }
  CORANK_HOST_DEVICE int64_t Split(int64_t index) const {
    const int64_t high = high_splits != nullptr ? high_splits[index] : 0;
    return high << 32 | splits[index];
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_PASS_H_
