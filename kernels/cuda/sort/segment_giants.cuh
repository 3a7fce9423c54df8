// Sorts giants, the longest segments, by digits: merging would take as many passes and do more work in each.
//
// Algorithm: one persistent launch, which ends immediately if there is no giant. It counts the digits of all giants,
//            then moves keys and payload by one digit after the other (radix_pass.cuh), but for digits that differ in
//            no giant. A tile belongs to one giant and looks back to tiles of that giant only.
// Work: O(n * key bytes).
// Memory: one read of the keys; one read and one write of keys and payload for each digit that differs.
// Workspace: one array of keys and payload; counts of about 1300 tiles, 1 KiB each. The giants' digit counts use the
//            space of the splits that merging would need.
// Stability: stable.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_GIANTS_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_GIANTS_CUH_

#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/radix_histogram.cuh"
#include "kernels/cuda/sort/radix_pass.cuh"
#include "kernels/cuda/sort/segment_pass.h"
#include "kernels/cuda/sort/segment_tuning.h"

namespace corank::cuda {

template <typename Bits, typename Payload>
struct GiantSegments {
  using Tile = RadixTile<Bits, Payload, /*kMayPack=*/false>;
  using Args = RadixPassArgs<Bits, Payload>;
  static constexpr int kThreads = Tile::kThreads, kItems = Tile::kItems;
  static constexpr int kDigits = sizeof(Bits);
  static constexpr int kBins = kDigits * kDigitBins;
  static constexpr int kWindow = SegmentTuningFor(sizeof(Bits), Tile::kPayload).Window();
  static_assert((LongSegment::kLeastGiant / kWindow - 1) * kMergeWays >= kBins, "counts take the place of splits");

  static constexpr int64_t MostTiles(int64_t count) { return count / Tile::kKeys + SegmentPlan::MostGiants(count); }

  struct Pass {
    KeyOrder<Bits, false> order;
    SegmentPlan plan;
    uint32_t* splits;
    uint32_t* differing_digits;  // a bit for each
    Args radix;
  };

  /// The giant's keys by digit, then the number of keys before the first one with the digit.
  static __device__ __forceinline__ uint32_t* BinsOf(const Pass& pass, const LongSegment& giant) {
    return pass.splits + CeilDiv(giant.begin, kWindow) * kMergeWays;
  }

  /// Numbers the tiles. One warp calls it.
  static __device__ __forceinline__ void CountTiles(const SegmentPlan& plan, int giants) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    int before = 0;
    for (int first = 0; first < giants; first += 32) {
      const int giant = first + lane;
      const LongSegment segment = giant < giants ? plan.giants[giant] : LongSegment{0, 0};
      int tiles = static_cast<int>(CeilDiv(segment.end - segment.begin, Tile::kKeys));
      const int own = tiles;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(~0u, tiles, step);
        if (lane >= step) tiles += other;
      }
      if (giant < giants) plan.giant_tiles[giant] = before + tiles - own;
      before += __shfl_sync(~0u, tiles, 31);
    }
    if (lane == 0) plan.giant_tiles[giants] = before;
  }

  /// The giant of a tile: `giant` or a later one. A whole warp calls it.
  static __device__ __forceinline__ int GiantOf(const SegmentPlan& plan, int tile, int giant, int giants) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    while (true) {
      const int next = giant + 1 + lane;
      const int passed = __popc(__ballot_sync(~0u, next < giants && plan.giant_tiles[next] <= tile));
      giant += passed;
      if (passed < 32) return giant;
    }
  }

  static __device__ __forceinline__ TileKeys KeysOf(const LongSegment& giant, int tile_of_giant) {
    const int64_t start = giant.begin + int64_t{tile_of_giant} * Tile::kKeys;
    return {start, static_cast<int>(Min<int64_t>(Tile::kKeys, giant.end - start))};
  }

  /// Counts the digits of this block's equal share of all tiles.
  static __device__ __forceinline__ void CountDigits(const Pass& pass, int giants, uint32_t* counters) {
    constexpr int kFit = static_cast<int>(sizeof(typename Tile::Shared)) / (kBins * static_cast<int>(sizeof(uint32_t)));
    constexpr int kCopies = kFit < kHistogramCopies ? 8 : kHistogramCopies;
    static_assert(kFit >= kCopies);
    const int thread = static_cast<int>(threadIdx.x);
    const int all = pass.plan.giant_tiles[giants];
    const int share = static_cast<int>(CeilDiv(all, gridDim.x));
    const int first = static_cast<int>(blockIdx.x) * share, last = Min(first + share, all);
    if (first >= last) return;
    const auto flush = [&](int giant) {
      uint32_t* const bins = BinsOf(pass, pass.plan.giants[giant]);
      __syncthreads();
      for (int i = thread; i < kBins; i += kThreads) {
        uint32_t sum = 0;
        for (int c = 0; c < kCopies; ++c) {
          uint32_t* const counter = counters + i * kCopies + (c + thread) % kCopies;
          sum += *counter;
          *counter = 0;
        }
        if (sum != 0) atomicAdd(bins + i, sum);
      }
      __syncthreads();
    };
    for (int i = thread; i < kBins * kCopies; i += kThreads) counters[i] = 0;
    __syncthreads();
    uint32_t* const own = counters + thread % kCopies;
    int giant = GiantOf(pass.plan, first, 0, giants);
    for (int tile = first; tile < last; ++tile) {
      while (tile >= pass.plan.giant_tiles[giant + 1]) flush(giant++);
      const TileKeys keys = KeysOf(pass.plan.giants[giant], tile - pass.plan.giant_tiles[giant]);
      const Bits* const in = pass.radix.keys.in + keys.start + thread;
      constexpr int kBatch = 8;
      for (int i = 0; i < keys.count; i += kBatch * kThreads) {
        Bits batch[kBatch];
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          const int at = i + k * kThreads;
          if (at + thread < keys.count) batch[k] = in[at];
        }
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          if (i + k * kThreads + thread >= keys.count) continue;
          const Bits code = pass.order.Encode(batch[k]);
#pragma unroll
          for (int d = 0; d < kDigits; ++d) {
            const uint32_t bin = static_cast<uint32_t>(code >> (kDigitBits * d)) % kDigitBins;
            atomicAdd(own + (d * kDigitBins + bin) * kCopies, 1u);
          }
        }
      }
    }
    flush(giant);
  }

  /// launch: counts the passes. number: the same, but the last one is always kDigits - 1.
  static __device__ __forceinline__ void MoveByDigit(const Pass& pass, int digit, int launch, int number, int giants,
                                                     typename Tile::Shared& shared, int* shared_giant) {
    const RadixStatuses& statuses = pass.radix.statuses;
    const int tiles = pass.plan.giant_tiles[giants];
    int giant = 0;
    while (true) {
      // Tiles are numbered as they begin, so a tile only waits for earlier ones, which are running.
      if (threadIdx.x < 32) {
        int tile = 0;
        if (threadIdx.x == 0) tile = static_cast<int>(atomicAdd(statuses.d_tickets + launch, 1u));
        tile = __shfl_sync(~0u, tile, 0);
        giant = GiantOf(pass.plan, tile, giant, giants);
        if (threadIdx.x == 0) {
          shared.tile = tile;
          *shared_giant = giant;
        }
      }
      PrepareTile<Tile>(shared);
      __syncthreads();
      const int tile = shared.tile;
      if (tile >= tiles) return;
      const LongSegment segment = pass.plan.giants[*shared_giant];
      const int tile_of_giant = tile - pass.plan.giant_tiles[*shared_giant];
      const LookBack look_back(statuses, launch, tiles, tile, tile_of_giant);
      const auto place_of = [&](int bin, uint32_t before, uint32_t) {
        return segment.begin + BinsOf(pass, segment)[digit * kDigitBins + bin] + before;
      };
      RunRadixPass<Bits, false, false, Tile>(pass.radix, launch == 0, number, pass.order, kDigits, kDigitBits * digit,
                                             KeysOf(segment, tile_of_giant), look_back, place_of, shared);
      __syncthreads();
    }
  }

  static __device__ __forceinline__ void Run(const Pass& pass, typename Tile::Shared& shared, int* shared_giant) {
    const int giants = *pass.plan.giant_count;
    if (giants == 0) return;
    const auto grid = cooperative_groups::this_grid();
    const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
    const int64_t threads = int64_t{gridDim.x} * kThreads;
    if (thread < 32) CountTiles(pass.plan, giants);
    for (int64_t i = thread; i < int64_t{giants} * kBins; i += threads) {
      BinsOf(pass, pass.plan.giants[i / kBins])[i % kBins] = 0;
    }
    const RadixStatuses& statuses = pass.radix.statuses;
    const int64_t words = ZeroedWords(statuses);
    for (int64_t i = thread; i < words; i += threads) statuses.d_rows[i] = 0;
    grid.sync();
    CountDigits(pass, giants, reinterpret_cast<uint32_t*>(&shared));
    grid.sync();
    for (int64_t digit = thread / 32; digit < int64_t{giants} * kDigits; digit += threads / 32) {
      const LongSegment segment = pass.plan.giants[digit / kDigits];
      const bool differs = ScanBins(BinsOf(pass, segment) + digit % kDigits * kDigitBins,
                                    static_cast<uint32_t>(segment.end - segment.begin));
      if (differs && thread % 32 == 0) atomicOr(pass.differing_digits, 1u << digit % kDigits);
    }
    grid.sync();
    const uint32_t differing = Max(__ldcg(pass.differing_digits), 1u);
    const int skipped = kDigits - __popc(differing);
    int launch = 0;
    for (int digit = 0; digit < kDigits; ++digit) {
      if ((differing >> digit & 1) == 0) continue;
      if (launch > 0) grid.sync();
      MoveByDigit(pass, digit, launch, launch + skipped, giants, shared, shared_giant);
      ++launch;
    }
  }

  /// The number of words in rows, tickets, counts of finished tiles and differing digits, which are contiguous.
  static CORANK_HOST_DEVICE int64_t ZeroedWords(const RadixStatuses& statuses) {
    return int64_t{statuses.rows} * kDigitBins + kDigits + int64_t{kDigits} * statuses.groups + 1;
  }

  /// Carves the workspace. Unless it only sizes, enqueues the sort.
  static cudaError_t Sort(const SegmentPass<Bits>& segments, Workspace& workspace, cudaStream_t stream);
};

template <typename Bits, typename Payload>
__global__ void __launch_bounds__(GiantSegments<Bits, Payload>::kThreads,
                                  GiantSegments<Bits, Payload>::Tile::kTuning.blocks)
    GiantSegmentsKernel(const __grid_constant__ typename GiantSegments<Bits, Payload>::Pass pass) {
  using Giants = GiantSegments<Bits, Payload>;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ int giant;
  Giants::Run(pass, *reinterpret_cast<typename Giants::Tile::Shared*>(memory), &giant);
}

template <typename Bits, typename Payload>
cudaError_t GiantSegments<Bits, Payload>::Sort(const SegmentPass<Bits>& segments, Workspace& workspace,
                                               cudaStream_t stream) {
  const int64_t most_tiles = MostTiles(segments.count);
  if (SegmentPlan::MostGiants(segments.count) == 0) return cudaSuccess;
  DeviceTraits device;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  Pass pass{};
  RadixStatuses& statuses = pass.radix.statuses;
  statuses.reach = MostRunningTiles(device.multiprocessors, kThreads);
  statuses.rows = static_cast<int>(std::min<int64_t>(most_tiles, StatusRows(statuses.reach)));
  statuses.groups = statuses.rows < most_tiles ? static_cast<int>(CeilDiv(most_tiles, kTilesPerGroup)) : 0;
  statuses.d_rows = workspace.Carve<uint32_t>(ZeroedWords(statuses));
  if (workspace.IsSizing()) return cudaSuccess;
  statuses.d_tickets = statuses.d_rows + int64_t{statuses.rows} * kDigitBins;
  statuses.d_finished = statuses.d_tickets + kDigits;
  pass.differing_digits = statuses.d_finished + int64_t{kDigits} * statuses.groups;

  pass.order = segments.order;
  pass.plan = segments.plan;
  pass.splits = segments.splits;
  pass.radix.count = segments.count;
  pass.radix.prefetch_keys =
      PrefetchTiles(sizeof(Bits), static_cast<int>(most_tiles), statuses.reach) * int64_t{Tile::kKeys};
  pass.radix.keys.in = segments.keys_in;
  pass.radix.keys.near = segments.odd_keys;
  pass.radix.keys.last = segments.keys;
  pass.radix.keys.wanted = segments.keys_wanted;
  if constexpr (Tile::kPayload) {
    pass.radix.payload.in = static_cast<const Payload*>(segments.payload_in);
    pass.radix.payload.near = static_cast<Payload*>(segments.odd_payload);
    pass.radix.payload.last = static_cast<Payload*>(segments.payload);
  }
  const auto kernel = GiantSegmentsKernel<Bits, Payload>;
  constexpr int kBytes = sizeof(typename Tile::Shared);
  int blocks = 0;
  CORANK_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  CORANK_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, kBytes));
  blocks = static_cast<int>(std::min<int64_t>(int64_t{blocks} * device.multiprocessors, most_tiles));
  void* arguments[] = {&pass};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                                     dim3(kThreads), arguments, kBytes, stream);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_GIANTS_CUH_
