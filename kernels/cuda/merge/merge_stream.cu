// Merge by warps that stream: what AUTO takes for keys alone whose equals cannot be told apart (integers).
//
// Algorithm   each warp merges a section of the output (found by PartitionMerge), a tile after the other. Both inputs
//             pass through rings in shared memory, filled by asynchronous copies behind what is consumed, so that loads
//             overlap with merging and each key is loaded once. The lanes together find how many of the tile's outputs
//             come from a, read them as one sequence that falls (b, backwards) and then rises (a), and sort it by a
//             network in registers (merge_network.cuh). No time depends on the keys: no bank conflicts, no idle lanes,
//             no barriers between warps.
// Work        O(n log(tile)) comparisons
// Passes      one read and one write of the keys; the check that inputs are sorted rides on it
// Workspace   8 bytes a section (the splits)
// Stability   equal keys are the same bits
// Source      S. Odeh, O. Green et al., "Merge Path", 2012; K. E. Batcher, AFIPS 1968
#include <type_traits>

#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_network.cuh"
#include "kernels/cuda/merge/merge_ring.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

template <typename Bits>
struct WarpMerge {
  using Tuning = StreamMergeTuning<sizeof(Bits)>;
  using Ring = MergeRing<Bits, Tuning::kRing, Tuning::kAheadBytes>;
  using Item = std::conditional_t<sizeof(Bits) == 8, unsigned long long, unsigned>;
  static constexpr int kItems = Tuning::kItems, kTile = Tuning::kTile;
  static_assert(2 * kTile + Ring::kGranule <= Tuning::kRing, "the next tile is loaded before this one is consumed");
  using Staging = MergeStaging<Item, kItems>;

  const KeyOrder<Bits, false> order;
  const MergeSection<Bits, NoValue> section;
  const int a_input, b_input;
  FaultCell* const d_unsorted;
  Ring a, b;
  Staging& staging;

  /// How many of the tile's outputs come from a: two steps of 32 probes. For inputs that are not sorted, some number
  /// that both inputs allow.
  __device__ __forceinline__ int Split(int outputs) const {
    constexpr int kStride = (kTile + 31) / 32;
    static_assert(kStride <= 32);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int low = max(0, outputs - b.left()), high = min(outputs, a.left());
    const auto from_a = [&](int i) {
      return i < high && !order.Before(b[b.position() + outputs - 1 - i], a[a.position() + i]);
    };
    const int coarse = low + kStride * __popc(__ballot_sync(~0u, from_a(low + kStride * (lane + 1) - 1)));
    return min(high, coarse + __popc(__ballot_sync(~0u, lane < kStride - 1 && from_a(coarse + lane))));
  }

  /// Merges `outputs` <= kTile keys; kFull: kTile.
  template <bool kFull>
  __device__ __forceinline__ void MergeTile(int outputs) {
    if constexpr (kFull) outputs = kTile;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    __pipeline_wait_prior(0);
    __syncwarp();
    const int a_count = Split(outputs), b_count = outputs - a_count;
    a.Fill();
    b.Fill();
    __pipeline_commit();

    // A successor that does not exist may look like a fault, so a fault seen here is only a hint.
    Item items[kItems];
    bool seems_unsorted = false;
    const int rising = a.position() - b_count + lane, falling = b.position() + b_count - 1 - lane;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const bool from_b = 32 * i + lane < b_count;
      const int u = from_b ? falling - 32 * i : rising + 32 * i;
      const Bits* const slot = (from_b ? b.slots() : a.slots()) + (u & Ring::kMask);
      const Bits code = order.Encode(slot[0]);
      seems_unsorted |= order.Encode(slot[1]) < code;
      items[i] = kFull || 32 * i + lane < outputs ? code : ~Item{0};
    }
    if (d_unsorted != nullptr && __any_sync(~0u, seems_unsorted)) {
      Check(a, a_count, section.a_begin, a_input);
      Check(b, b_count, section.b_begin, b_input);
    }
    SortValley(items, staging);

    Bits* const keys_out = section.keys_out + (a.consumed() + b.consumed() + lane);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (kFull || 32 * i + lane < outputs) keys_out[32 * i] = order.Decode(static_cast<Bits>(items[i]));
    }
    a.Consume(a_count);
    b.Consume(b_count);
  }

  __device__ __forceinline__ void Check(const Ring& ring, int count, int64_t begin, int32_t input) const {
    if (input < 0) return;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32) {
      const int u = ring.position() + i;
      if (ring.HasNext(u)) {
        CheckNeighbours(ring[u], ring[u + 1], order, input, begin + ring.consumed() + i + 1, d_unsorted);
      }
    }
  }
};

template <typename Bits>
__global__ void __launch_bounds__(WarpMerge<Bits>::Tuning::kThreads, WarpMerge<Bits>::Tuning::kBlocks)
    StreamMergeKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, false> order, MergeSplits splits,
                      int64_t section_size, FaultCell* d_unsorted) {
  using Merge = WarpMerge<Bits>;
  using Tuning = typename Merge::Tuning;
  __shared__ typename Merge::Staging s_staging[Tuning::kWarps];
  __shared__ alignas(16) Bits s_slots[Tuning::kWarps][2][Merge::Ring::kSlots];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t number = int64_t{blockIdx.x} * Tuning::kWarps + warp;
  if (number >= group.sections) return;
  const MergePair& pair = group.pairs[FindPair(group, number)];
  const auto section = LoadSection<Bits, NoValue>(group, pair, number, section_size, splits);
  const bool a_followed = section.a_begin + section.a_count < pair.a_count;
  const bool b_followed = section.b_begin + section.b_count < pair.b_count;
  Merge merge{order,
              section,
              pair.a_input,
              pair.b_input,
              d_unsorted,
              {section.a_keys, section.a_count, a_followed, s_slots[warp][0]},
              {section.b_keys, section.b_count, b_followed, s_slots[warp][1]},
              s_staging[warp]};
  merge.a.Fill();
  merge.b.Fill();
  __pipeline_commit();
  int left = section.count();
  for (; left >= Merge::kTile; left -= Merge::kTile) merge.template MergeTile<true>(Merge::kTile);
  if (left > 0) merge.template MergeTile<false>(left);
}

template <typename Bits>
cudaError_t Launch(const MergeGroup& group, const KeyOrder<Bits, false>& order, int64_t section_size,
                   const MergeSplits& splits, FaultCell* d_unsorted, cudaStream_t stream) {
  using Tuning = StreamMergeTuning<sizeof(Bits)>;
  const auto blocks = static_cast<unsigned>(CeilDiv(group.sections, Tuning::kWarps));
  StreamMergeKernel<<<blocks, Tuning::kThreads, 0, stream>>>(group, order, splits, section_size, d_unsorted);
  return cudaGetLastError();
}

}  // namespace

cudaError_t StreamMerge(const MergeGroup& group, const MergeKind& kind, int64_t section_size, const MergeSplits& splits,
                        unsigned long long* d_unsorted, cudaStream_t stream) {
  const auto launch = [&](auto order) { return Launch(group, order, section_size, splits, d_unsorted, stream); };
  switch (KeyBytes(kind.key_type)) {
    case 1:
      return launch(KeyOrder<uint8_t, false>(kind.key_type, kind.order));
    case 2:
      return launch(KeyOrder<uint16_t, false>(kind.key_type, kind.order));
    case 4:
      return launch(KeyOrder<uint32_t, false>(kind.key_type, kind.order));
    default:
      return launch(KeyOrder<uint64_t, false>(kind.key_type, kind.order));
  }
}

}  // namespace corank::cuda
