// Algorithm: zeros and NaNs are found in the sorted keys by a search of one block; where there are any, each warp
//            counts those of its part of the input, and then copies them to behind what the warps before it have.
// Work: O(n) and nothing but the search without zeros and NaNs. Memory: two reads of the keys, one write of the zeros
//       and NaNs.
// Workspace: 8 bytes a warp.
// Stability: equal keys come in the order of the input.
#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/integer_math.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/sort/float_bits.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostWarps = 4096;
/// Keys of a warp at least, so that short arrays take few blocks.
constexpr int64_t kLeastPart = 2048;

/// Float keys with equals of other bits.
struct Counts {
  uint32_t zeros, nans;
};

template <typename Bits>
struct BitsPass {
  KeyOrder<Bits, true> order;
  const Bits* keys_in;
  Bits* keys_out;
  int64_t count, result_count;
  int64_t part;     // keys of a warp; below 2^32
  Counts* d_parts;  // of each warp
  int warps;

  static constexpr Bits kZeroRank = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
};

/// Where the results have zeros and NaNs: from these on, if there are any.
struct Begins {
  int64_t zeros, nans;
};

template <typename Bits>
__device__ __forceinline__ bool IsZero(const BitsPass<Bits>& pass, Bits raw) {
  return pass.order.IsFloatZero(raw);
}
template <typename Bits>
__device__ __forceinline__ bool IsNan(const BitsPass<Bits>& pass, Bits raw) {
  return !pass.order.IsNumber(raw);
}

/// The first result whose rank is not below `rank`, or result_count; by all threads of the block.
template <typename Bits>
__device__ __forceinline__ int64_t FindRank(const BitsPass<Bits>& pass, Bits rank) {
  int64_t low = 0, high = pass.result_count;
  while (low < high) {
    const int64_t step = CeilDiv(high - low, kThreads);
    const int64_t probe = low + (static_cast<int64_t>(threadIdx.x) + 1) * step - 1;
    const bool below = probe < high && pass.order.RankOfRaw(pass.keys_out[probe]) < rank;
    const int64_t steps = __syncthreads_count(below);
    low += steps * step;
    high = min(high, low + step - 1);
  }
  return low;
}

/// Whether there are results to be restored, and where. The bits that zeros and NaNs have does not matter, so that
/// blocks may write them while others search.
template <typename Bits>
__device__ __forceinline__ bool FindBegins(const BitsPass<Bits>& pass, Begins* begins) {
  const auto result_at = [&](int64_t i) { return pass.keys_out[min(i, pass.result_count - 1)]; };
  const int64_t last = pass.result_count - 1;
  const bool nans_first = IsNan(pass, result_at(0)), nans_last = IsNan(pass, result_at(last));
  begins->zeros = FindRank(pass, BitsPass<Bits>::kZeroRank);
  begins->nans = nans_first ? 0 : pass.result_count;
  if (!nans_first && nans_last) begins->nans = FindRank(pass, static_cast<Bits>(~Bits{0}));
  return nans_first || nans_last || IsZero(pass, result_at(begins->zeros));
}

/// Calls visit(key) for the keys of this warp's part, 32 at a time and several on their way; all lanes together, with
/// `is_key` false past the end.
template <typename Bits, typename Visit>
__device__ __forceinline__ void ForEachOfPart(const BitsPass<Bits>& pass, int64_t warp, Visit visit) {
  constexpr int kBatch = 8;
  const int64_t begin = warp * pass.part, end = min(begin + pass.part, pass.count);
  for (int64_t first = begin + threadIdx.x % 32; first - static_cast<int64_t>(threadIdx.x % 32) < end;
       first += 32 * kBatch) {
    Bits keys[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + 32 * k < end) keys[k] = pass.keys_in[first + 32 * k];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) visit(first + 32 * k < end, keys[k]);
  }
}

template <typename Bits>
__global__ void __launch_bounds__(kThreads) CountBitsKernel(const __grid_constant__ BitsPass<Bits> pass) {
  Begins begins;
  if (!FindBegins(pass, &begins)) return;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (warp >= pass.warps) return;
  Counts counts{};
  ForEachOfPart(pass, warp, [&](bool is_key, Bits raw) {
    counts.zeros += is_key && IsZero(pass, raw) ? 1 : 0;
    counts.nans += is_key && IsNan(pass, raw) ? 1 : 0;
  });
  counts.zeros = __reduce_add_sync(kAllLanes, counts.zeros);
  counts.nans = __reduce_add_sync(kAllLanes, counts.nans);
  if (threadIdx.x % 32 == 0) pass.d_parts[warp] = counts;
}

template <typename Bits>
__global__ void __launch_bounds__(kThreads) WriteBitsKernel(const __grid_constant__ BitsPass<Bits> pass) {
  Begins begins;
  if (!FindBegins(pass, &begins)) return;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (warp >= pass.warps) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int64_t zeros = 0, nans = 0;
  for (int64_t other = lane; other < warp; other += 32) {
    zeros += pass.d_parts[other].zeros;
    nans += pass.d_parts[other].nans;
  }
  for (int step = 16; step > 0; step /= 2) {
    zeros += __shfl_xor_sync(kAllLanes, zeros, step);
    nans += __shfl_xor_sync(kAllLanes, nans, step);
  }
  zeros += begins.zeros;
  nans += begins.nans;
  const unsigned before = (1u << lane) - 1;
  ForEachOfPart(pass, warp, [&](bool is_key, Bits raw) {
    const bool is_zero = is_key && IsZero(pass, raw), is_nan = is_key && IsNan(pass, raw);
    const unsigned all_zeros = __ballot_sync(kAllLanes, is_zero), all_nans = __ballot_sync(kAllLanes, is_nan);
    const int64_t place = is_zero ? zeros + __popc(all_zeros & before) : nans + __popc(all_nans & before);
    if ((is_zero || is_nan) && place < pass.result_count) pass.keys_out[place] = raw;
    zeros += __popc(all_zeros);
    nans += __popc(all_nans);
  });
}

template <typename Bits>
cudaError_t Restore(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  BitsPass<Bits> pass{};
  pass.part = std::max(kLeastPart, CeilDiv(sort.count, kMostWarps));
  pass.warps = static_cast<int>(CeilDiv(sort.count, pass.part));
  pass.d_parts = workspace.Carve<Counts>(pass.warps);
  if (workspace.IsSizing()) return cudaSuccess;
  pass.order = KeyOrder<Bits, true>(sort.key_type, sort.order);
  pass.keys_in = static_cast<const Bits*>(sort.d_keys_in);
  pass.keys_out = static_cast<Bits*>(sort.d_keys_out);
  pass.count = sort.count;
  pass.result_count = sort.result_count;
  const auto blocks = static_cast<unsigned>(CeilDiv(pass.warps, kWarps));
  CountBitsKernel<<<blocks, kThreads, 0, stream>>>(pass);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  WriteBitsKernel<<<blocks, kThreads, 0, stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace

cudaError_t RestoreFloatBits(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  switch (KeyBytes(sort.key_type)) {
    case 2:
      return Restore<uint16_t>(sort, workspace, stream);
    case 4:
      return Restore<uint32_t>(sort, workspace, stream);
    default:
      return Restore<uint64_t>(sort, workspace, stream);
  }
}

}  // namespace corank::cuda
