// Converts whole arrays of keys to ranks and back, for algorithms that only order unsigned integers.
#ifndef CORANK_KERNELS_CUDA_SORT_KEY_CODES_H_
#define CORANK_KERNELS_CUDA_SORT_KEY_CODES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// The type of the ranks of such keys: the unsigned integer of the same width.
constexpr KeyType RankType(KeyType type) {
  switch (KeyBytes(type)) {
    case 1:
      return KeyType::kUint8;
    case 2:
      return KeyType::kUint16;
    case 4:
      return KeyType::kUint32;
    default:
      return KeyType::kUint64;
  }
}

/// d_ranks[i] = KeyOrder::RankOfRaw(d_keys[i]). Enqueues one launch; count > 0.
cudaError_t KeysToRanks(KeyType type, Order order, const void* d_keys, void* d_ranks, int64_t count,
                        cudaStream_t stream);
/// The inverse for integer keys, in place. Enqueues one launch; count > 0.
cudaError_t RanksToIntegerKeys(KeyType type, Order order, void* d_ranks, int64_t count, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_KEY_CODES_H_
