// Finds the zeros and NaNs among sorted float keys: the keys whose rank does not determine their bits.
#ifndef CORANK_KERNELS_CUDA_COMMON_FLOAT_BITS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_FLOAT_BITS_CUH_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

/// The rank of zeros, in both directions.
template <typename Bits>
inline constexpr Bits kZeroRank = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

/// The beginnings of zeros and NaNs in the results, or where they would begin.
struct FloatBegins {
  int64_t zeros, nans;
};

/// The first of `count` sorted keys whose rank is not below `rank`, or count. All kThreads threads of the block call it
/// together.
template <int kThreads, typename Bits>
__device__ __forceinline__ int64_t FindRankByBlock(const KeyOrder<Bits, true>& order, const Bits* keys, int64_t count,
                                                   Bits rank) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t step = CeilDiv(high - low, kThreads);
    const int64_t probe = low + (static_cast<int64_t>(threadIdx.x) + 1) * step - 1;
    const bool below = probe < high && order.RankOfRaw(keys[probe]) < rank;
    const int64_t steps = __syncthreads_count(below);
    low += steps * step;
    high = min(high, low + step - 1);
  }
  return low;
}

/// Whether the first `count` > 0 results of a sort or merge by rank include zeros or NaNs, and where. Other blocks may
/// restore the bits of these keys meanwhile. All threads of the block call it together.
template <int kThreads, typename Bits>
__device__ __forceinline__ bool FindFloatBegins(const KeyOrder<Bits, true>& order, const Bits* results, int64_t count,
                                                FloatBegins* begins) {
  const bool nans_first = !order.IsNumber(results[0]), nans_last = !order.IsNumber(results[count - 1]);
  begins->zeros = FindRankByBlock<kThreads>(order, results, count, kZeroRank<Bits>);
  begins->nans = nans_first ? 0 : count;
  if (!nans_first && nans_last) {
    begins->nans = FindRankByBlock<kThreads>(order, results, count, static_cast<Bits>(~Bits{0}));
  }
  return nans_first || nans_last || (begins->zeros < count && order.IsFloatZero(results[begins->zeros]));
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_FLOAT_BITS_CUH_
