// The input of the sort algorithms: keys in a form that they can order, and at most one payload of 4 or 8 bytes.
// sort_plan.cc makes it from SortArgs.
#ifndef CORANK_KERNELS_CUDA_SORT_CORE_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_CORE_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// The parts of RADIX. They share a workspace, which nothing may write in between. AUTO uses them to count digits while
/// it waits for its findings about the data.
enum class RadixPart { kAll, kHistogram, kPasses };

struct CoreSort {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  int64_t count = 0;         // > 0
  int64_t result_count = 0;  // 1 to count: the length of the outputs
  const void* d_keys_in = nullptr;
  void* d_keys_out = nullptr;                  // null: the caller does not want keys
  const void* d_payload_in = nullptr;          // null: the payload is the index of the key
  void* d_payload_out = nullptr;               // null only where payload_bytes is 0
  int payload_bytes = 0;                       // 0, 4 or 8
  const int64_t* d_segment_offsets = nullptr;  // null: one segment
  int64_t segment_count = 0;
  /// RADIX of integers: the bits of the keys' codes (key_order.h) that may differ between keys. All other bits are
  /// known to be the same in every key. Digits consist of these bits only.
  uint64_t live_bits = ~uint64_t{0};
  RadixPart radix_part = RadixPart::kAll;

  bool OutputsAreWhole() const { return result_count == count; }
};

/// Each function carves its workspace and, unless it only sizes, enqueues its launches. No function waits.

/// Any key type and order, one segment. mergesort.cuh.
cudaError_t Mergesort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);
/// Any key type and order, one segment. radix.cuh.
cudaError_t RadixSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);
/// Unsigned ascending keys, one segment; the payload, if any, is the index. odd_even.cu.
cudaError_t OddEvenMergesort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_CORE_SORT_H_
