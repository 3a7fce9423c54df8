// Finds the lanes of a warp with equal digits.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_MATCH_CUH_
#define CORANK_KERNELS_CUDA_SORT_RADIX_MATCH_CUH_

#include <cstdint>

#include "kernels/cuda/sort/radix_tuning.h"

namespace corank::cuda {

/// The lanes whose digit has the same value in two bits. In assembly, because logic units are the bottleneck of this
/// kernel: the compiler makes 7 instructions a bit from C++, and 2.5 from this.
template <int kBit>
__device__ __forceinline__ uint32_t MatchTwoBits(uint32_t digit, uint32_t peers) {
  uint32_t low, high;
  asm("{\n"
      "  .reg .pred p, q;\n"
      "  .reg .b32 t, u;\n"
      "  and.b32 t, %2, %3;\n"
      "  setp.ne.u32 p, t, 0;\n"
      "  vote.ballot.sync.b32 %0, p, 0xffffffff;\n"
      "  @!p not.b32 %0, %0;\n"
      "  and.b32 u, %2, %4;\n"
      "  setp.ne.u32 q, u, 0;\n"
      "  vote.ballot.sync.b32 %1, q, 0xffffffff;\n"
      "  @!q not.b32 %1, %1;\n"
      "}\n"
      : "=r"(low), "=r"(high)
      : "r"(digit), "r"(1u << kBit), "r"(2u << kBit));
  asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(peers) : "r"(low), "r"(high));
  return peers;
}

/// The lanes with the same digit as this one. The whole warp calls it.
__device__ __forceinline__ uint32_t MatchDigit(uint32_t digit) {
  static_assert(kDigitBits == 8, "written for 8 bits");
  return MatchTwoBits<6>(digit, MatchTwoBits<4>(digit, MatchTwoBits<2>(digit, MatchTwoBits<0>(digit, ~0u))));
}

/// The lanes before this one.
__device__ __forceinline__ uint32_t LanesBefore() {
  uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/// Adds the `count` of the last lane of `peers` to *counter, once; all peers name the same counter. Returns the
/// previous value to all peers. The whole warp calls it.
__device__ __forceinline__ uint32_t AddOnce(uint32_t* counter, uint32_t peers, uint32_t count) {
  const int last = 31 - __clz(static_cast<int>(peers));
  uint32_t before = 0;
  if (static_cast<int>(threadIdx.x % 32) == last) before = atomicAdd(counter, count);
  return __shfl_sync(~0u, before, last);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_MATCH_CUH_
