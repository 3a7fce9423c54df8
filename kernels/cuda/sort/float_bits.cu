// Restores the bits of zeros and NaNs in sorted float keys.
//
// Algorithm: each block searches zeros and NaNs in the sorted keys. If there are any, each warp counts those in its
//            part of the input. In the second launch it copies them to the place after those of earlier warps.
// Work: O(n); without zeros and NaNs only the search.
// Memory: two reads of the keys, one write of the zeros and NaNs.
// Workspace: 8 bytes for each warp.
// Stability: equal keys keep their input order.
#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/float_bits.cuh"
#include "kernels/cuda/common/integer_math.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/sort/float_bits.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostWarps = 4096;
/// Fewest keys of a warp, so that short arrays need few blocks.
constexpr int64_t kLeastPart = 2048;

/// Numbers of keys that equal keys with other bits.
struct Counts {
  uint32_t zeros, nans;
};

template <typename Bits>
struct BitsPass {
  KeyOrder<Bits, true> order;
  const Bits* keys_in;
  Bits* keys_out;
  int64_t count, result_count;
  int64_t part;     // keys of a warp; less than 2^32
  Counts* d_parts;  // of each warp
  int warps;
};

/// Calls visit(key) for the keys of this warp's part, 32 at a time with several loads in flight. All lanes call it
/// together; `is_key` is false past the end.
template <typename Bits, typename Visit>
__device__ __forceinline__ void ForEachOfPart(const BitsPass<Bits>& pass, int64_t warp, Visit visit) {
  constexpr int kBatch = 8;
  const int64_t begin = warp * pass.part, end = min(begin + pass.part, pass.count);
  for (int64_t first = begin; first < end; first += 32 * kBatch) {
    const int64_t own = first + threadIdx.x % 32;
    Bits keys[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (own + 32 * k < end) keys[k] = pass.keys_in[own + 32 * k];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) visit(own + 32 * k < end, keys[k]);
  }
}

template <typename Bits>
__global__ void __launch_bounds__(kThreads) CountBitsKernel(const __grid_constant__ BitsPass<Bits> pass) {
  FloatBegins begins;
  if (!FindFloatBegins<kThreads>(pass.order, pass.keys_out, pass.result_count, &begins)) return;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (warp >= pass.warps) return;
  Counts counts{};
  ForEachOfPart(pass, warp, [&](bool is_key, Bits raw) {
    counts.zeros += is_key && pass.order.IsFloatZero(raw) ? 1 : 0;
    counts.nans += is_key && !pass.order.IsNumber(raw) ? 1 : 0;
  });
  counts.zeros = __reduce_add_sync(kAllLanes, counts.zeros);
  counts.nans = __reduce_add_sync(kAllLanes, counts.nans);
  if (threadIdx.x % 32 == 0) pass.d_parts[warp] = counts;
}

template <typename Bits>
__global__ void __launch_bounds__(kThreads) WriteBitsKernel(const __grid_constant__ BitsPass<Bits> pass) {
  FloatBegins begins;
  if (!FindFloatBegins<kThreads>(pass.order, pass.keys_out, pass.result_count, &begins)) return;
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
    const bool is_zero = is_key && pass.order.IsFloatZero(raw), is_nan = is_key && !pass.order.IsNumber(raw);
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
