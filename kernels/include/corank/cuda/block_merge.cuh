// Merges two sorted ranges of shared memory by a block of threads: for kernels of other projects.
//
//   using Merge = corank::cuda::BlockMerge<float, 256, 8>;
//   __global__ void MergeTiles(..., Merge::KeyRank order) {
//     __shared__ Merge::Storage storage;
//     // ... write a_count keys to storage.keys, and b_count keys behind them
//     float merged[8];
//     Merge(storage, order).Run(a_count, b_count, merged);  // thread t gets outputs 8 * t to 8 * t + 7
//   }
//   MergeTiles<<<tiles, 256, 0, stream>>>(..., Merge::RankFor(corank::Order::kAscending));
//
// Algorithm: each thread finds where its outputs start by a binary search along its diagonal (merge path), and merges
// them into registers (kernels/cuda/common/tile_merge.cuh). O(n + threads * log n).
// Source: S. Odeh, O. Green et al., "Merge Path", 2012.
#ifndef CORANK_CUDA_BLOCK_MERGE_CUH_
#define CORANK_CUDA_BLOCK_MERGE_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "corank/operands.h"
#include "kernels/common/key_order.h"
#include "kernels/cuda/common/tile_merge.cuh"

namespace corank::cuda {

/// Key: an integer of 4 or 8 bytes, float or double. NaNs equal each other and are greater than numbers; both zeros are
/// equal. kThreads: the threads of the block, which is one-dimensional. kItems: outputs of each thread.
///
/// Stable: among equal keys, those of the first range come first.
template <typename Key, int kThreads, int kItems>
class BlockMerge {
  static constexpr KeyType kType = corank::internal::KeyTypeOf<Key>();
  using Bits = KeyBits<sizeof(Key)>;
  static_assert(sizeof(Key) == 4 || sizeof(Key) == 8, "keys of 4 or 8 bytes");

 public:
  /// The order of the keys. A value type: made on the host by RankFor, and an argument of the kernel.
  using KeyRank = KeyOrder<Bits, IsFloat(kType)>;
  static KeyRank RankFor(Order order) { return KeyRank(kType, order); }

  /// The most keys of both ranges together.
  static constexpr int kTile = kThreads * kItems;

  /// Shared memory of the block. The slots after the tile are read past the end of the second range.
  struct alignas(16) Storage {
    Key keys[kTile + kItems];
  };

  __device__ BlockMerge(Storage& storage, const KeyRank& order) : storage_(storage), order_(order) {}

  /// Merges storage.keys[0, a_count) and storage.keys[a_count, a_count + b_count), each sorted, into registers. All
  /// threads of the block call it with the same counts. It begins with a barrier and reads the storage until the next
  /// one. Outputs past the end are unspecified. Unsorted ranges lead to a wrong order, but all reads are in bounds.
  __device__ void Run(int a_count, int b_count, Key (&merged)[kItems]) const {
    PairChunk chunk{};
    chunk.a_begin = 0;
    chunk.a_end = chunk.b_begin = a_count;
    chunk.b_end = a_count + b_count;
    chunk.first = min(static_cast<int>(threadIdx.x) * kItems, chunk.b_end);
    __syncthreads();
    Bits bits[kItems];
    MergeStable<kItems, SplitSearch::kWhole>(
        SharedAddress(storage_.keys), chunk, [this](Bits raw) { return order_.RankOfRaw(raw); }, bits);
#pragma unroll
    for (int i = 0; i < kItems; ++i) memcpy(&merged[i], &bits[i], sizeof(Key));
  }

 private:
  Storage& storage_;
  const KeyRank& order_;
};

}  // namespace corank::cuda

#endif  // CORANK_CUDA_BLOCK_MERGE_CUH_
