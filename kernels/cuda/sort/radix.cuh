// Radix sort of one key width.
//
// Algorithm: least significant digit first, 8 bits a digit, one sweep a digit. One kernel makes the histograms of all
//            digits. Then there is a pass for each digit that differs between keys; the device finds out which these
//            are. A pass counts its tile, learns by decoupled look-back how many keys of each digit earlier tiles have,
//            ranks keys within a warp by ballots, and writes runs of equal digits. Signed and descending keys differ by
//            an exclusive or of the digit. Floats are ordered by code. If codes and ranks differ (-0.0, NaNs), the
//            digits of ranks order them, which costs a few operations and keeps equal keys in order. A key and a
//            payload of 4 bytes each travel as one word between the first pass and the last.
// Work: O(n * key bytes).
// Memory: one read of the keys; one read and one write of keys and payload for each digit.
// Workspace: one array of keys and one of payload; counts of about 2000 tiles at most, 1 KiB each, for any n; a whole
//            output of keys or payload if the result is shorter or not wanted.
// Stability: stable.
// Source: A. Adinets, D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_CUH_
#define CORANK_KERNELS_CUDA_SORT_RADIX_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/radix_histogram.cuh"
#include "kernels/cuda/sort/radix_pass.cuh"

namespace corank::cuda {

/// Carves the arrays that the passes go through. If the output is not `wanted`, the last pass writes nothing, but needs
/// as much. `packed`: the caller carves the arrays that passes alternate between.
template <typename T>
RadixArrays<T> CarveRadixArrays(const void* in, void* out, bool wanted, bool output_is_whole, int64_t count,
                                int most_passes, bool packed, Workspace& workspace) {
  RadixArrays<T> arrays;
  arrays.in = static_cast<const T*>(in);
  arrays.wanted = wanted;
  if (most_passes > 1 && !packed) arrays.near = workspace.Carve<T>(count);
  if (arrays.wanted && output_is_whole) {
    arrays.last = static_cast<T*>(out);
  } else if (!output_is_whole || most_passes > 2) {
    arrays.last = workspace.Carve<T>(count);
  }
  return arrays;
}

template <typename Bits, bool kFloat>
cudaError_t LaunchRadixHistogram(const DeviceTraits& device, const Bits* d_keys, int64_t count,
                                 const RadixDigits& digits, const KeyOrder<Bits, kFloat>& order, RadixState* d_state,
                                 cudaStream_t stream) {
  constexpr int kCopyBytes = static_cast<int>(sizeof(Bits)) * kDigitBins * static_cast<int>(sizeof(uint32_t));
  int copies = kHistogramCopies;
  while (copies * kCopyBytes > device.block_bytes - 1024) copies /= 2;
  const auto kernel = RadixHistogramKernel<Bits, kFloat>;
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, copies * kCopyBytes));
  const int64_t tiles = CeilDiv(count, kRadixHistogram.threads * kRadixHistogram.items);
  const int64_t blocks = std::min<int64_t>(tiles, device.multiprocessors * kRadixHistogram.blocks);
  kernel<<<static_cast<unsigned>(blocks), kRadixHistogram.threads, static_cast<size_t>(copies) * kCopyBytes, stream>>>(
      d_keys, count, digits, copies, order, d_state);
  return cudaGetLastError();
}

template <typename Bits, bool kFloat, typename Payload>
cudaError_t RunRadixSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  using Tile = RadixTile<Bits, Payload>;
  constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Bits));
  constexpr int kMostPasses = kKeyBits / kDigitBits;
  DeviceTraits device;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));

  RadixPassArgs<Bits, Payload> args;
  args.count = sort.count;
  // Float digits may be those of ranks, which differ in more bits than codes do.
  args.digits = DigitsOf(kFloat ? ~uint64_t{0} : sort.live_bits, kKeyBits);
  args.keys = CarveRadixArrays<Bits>(sort.d_keys_in, sort.d_keys_out, sort.d_keys_out != nullptr,
                                     sort.OutputsAreWhole(), sort.count, kMostPasses, Tile::kPacked, workspace);
  if constexpr (Tile::kPayload) {  // always wanted, even if the array is not known while sizing
    args.payload = CarveRadixArrays<Payload>(sort.d_payload_in, sort.d_payload_out, true, sort.OutputsAreWhole(),
                                             sort.count, kMostPasses, Tile::kPacked, workspace);
  }

  if constexpr (Tile::kPacked) {
    uint64_t* const near = workspace.Carve<uint64_t>(sort.count + kSparePairs);
    args.pairs.near.parts[0] = near;
    args.pairs.near.ends[0] = args.pairs.near.ends[1] = sort.count;
    args.pairs.last = PairsIn(args.keys.last, args.payload.last, near + sort.count, sort.count);
  }

  const int64_t portions = CeilDiv(sort.count, kMaxLaunchKeys / Tile::kKeys * Tile::kKeys);
  args.tiles = static_cast<int>(CeilDiv(CeilDiv(sort.count, Tile::kKeys), portions));
  args.statuses.reach = MostRunningTiles(device.multiprocessors, Tile::kThreads);
  args.statuses.rows = std::min(args.tiles, StatusRows(args.statuses.reach));
  args.prefetch_keys =
      int64_t{PrefetchTiles(sizeof(typename Tile::Held), args.tiles, args.statuses.reach)} * Tile::kKeys;
  if constexpr (Tile::kApart) {
    args.prefetches_payload = PrefetchesPayload(sizeof(Bits), sizeof(Payload), args.tiles, args.statuses.reach);
  }
  const bool rows_are_shared = args.statuses.rows < args.tiles;
  args.statuses.groups = rows_are_shared ? static_cast<int>(CeilDiv(args.tiles, kTilesPerGroup)) : 0;

  const int64_t most_launches = kMostPasses * portions;
  const int64_t ticket_bytes = most_launches * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t finished_bytes = ticket_bytes * args.statuses.groups;
  const int64_t row_bytes = int64_t{args.statuses.rows} * kDigitBins * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t zeroed_bytes = static_cast<int64_t>(sizeof(RadixState)) + row_bytes + ticket_bytes + finished_bytes;
  char* const d_zeroed = static_cast<char*>(workspace.CarveBytes(zeroed_bytes));
  if (workspace.IsSizing()) return cudaSuccess;

  args.state = reinterpret_cast<RadixState*>(d_zeroed);
  args.statuses.d_rows = reinterpret_cast<uint32_t*>(d_zeroed + sizeof(RadixState));
  args.statuses.d_tickets = args.statuses.d_rows + row_bytes / static_cast<int64_t>(sizeof(uint32_t));
  args.statuses.d_finished = args.statuses.d_tickets + most_launches;
  const KeyOrder<Bits, kFloat> order(sort.key_type, sort.order);
  if (sort.radix_part != RadixPart::kPasses) {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_zeroed, 0, static_cast<size_t>(zeroed_bytes), stream));
    CORANK_RETURN_IF_CUDA_ERROR(
        LaunchRadixHistogram(device, args.keys.in, sort.count, args.digits, order, args.state, stream));
    if (sort.radix_part == RadixPart::kHistogram) return cudaSuccess;
  }

  const auto kernel = RadixPassKernel<Bits, kFloat, Tile>;
  constexpr size_t kSharedBytes = sizeof(typename Tile::Shared);
  CORANK_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  for (args.pass = 0; args.pass < args.digits.count; ++args.pass) {
    for (args.portion = 0; args.portion < portions; ++args.portion) {
      args.launch = args.pass * static_cast<int>(portions) + args.portion;
      kernel<<<static_cast<unsigned>(args.tiles), Tile::kThreads, kSharedBytes, stream>>>(args, order);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
  }
  if (sort.OutputsAreWhole()) return cudaSuccess;
  if (args.keys.wanted) {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(sort.d_keys_out, args.keys.last,
                                                static_cast<size_t>(sort.result_count) * sizeof(Bits),
                                                cudaMemcpyDeviceToDevice, stream));
  }
  if constexpr (Tile::kPayload) {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(sort.d_payload_out, args.payload.last,
                                                static_cast<size_t>(sort.result_count) * sizeof(Payload),
                                                cudaMemcpyDeviceToDevice, stream));
  }
  return cudaSuccess;
}

template <typename Bits, bool kFloat>
cudaError_t RadixSortBy(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  if (sort.payload_bytes == 4) return RunRadixSort<Bits, kFloat, uint32_t>(sort, workspace, stream);
  if (sort.payload_bytes == 8) return RunRadixSort<Bits, kFloat, uint64_t>(sort, workspace, stream);
  return RunRadixSort<Bits, kFloat, NoPayload>(sort, workspace, stream);
}

/// Radix sort of keys of one width: explicitly instantiated in the radix_u*.cu files.
template <typename Bits>
cudaError_t RadixSortWith(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  if constexpr (sizeof(Bits) > 1) {
    if (IsFloat(sort.key_type)) return RadixSortBy<Bits, true>(sort, workspace, stream);
  }
  return RadixSortBy<Bits, false>(sort, workspace, stream);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_CUH_
