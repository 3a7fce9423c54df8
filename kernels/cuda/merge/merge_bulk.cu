// Merge of two arrays by blocks that stream: what AUTO takes for integer keys of 4 and 8 bytes without values.
//
// Algorithm   blocks take sections of the output, of some tiles each, one after the other. In a block, one warp takes
//             the next section and searches where it begins and ends in the inputs; one searches where its tiles do,
//             near where the tile before lets expect it, and loads their parts of both inputs into a ring of stages by
//             bulk copies; the other warps merge: a thread finds its piece of the tile by merge path, merges it in
//             registers and writes it back to the stage, which a bulk copy stores. Nothing is partitioned before, and
//             what blocks work on at a time lies together in memory.
// Work        O(n + n / kItems * log(tile))
// Passes      one read and one write of the keys, the check that the inputs are sorted included
// Workspace   a BulkMergeState
// Stability   equal keys are the same bits
// Source      S. Odeh, O. Green et al., "Merge Path", 2012
#include <algorithm>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/tile_merge.cuh"
#include "kernels/cuda/merge/bulk_copy.cuh"
#include "kernels/cuda/merge/bulk_sections.h"
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

/// A kernel argument.
template <typename Bits>
struct BulkPass {
  const Bits* a;
  const Bits* b;
  Bits* out;
  int64_t a_count, b_count;
  BulkSections sections;
  KeyOrder<Bits, false> order;
  BulkMergeState* d_state;

  __device__ __forceinline__ int64_t count() const { return a_count + b_count; }

  /// Whether key i of a comes after the first `diagonal` outputs.
  __device__ __forceinline__ bool IsPast(int64_t diagonal, int64_t i) const {
    return order.Before(b[diagonal - 1 - i], a[i]);
  }
};

template <typename Bits>
struct BulkMerger {
  using Pass = BulkPass<Bits>;
  using Tuning = BulkMergeTuning<sizeof(Bits)>;
  static constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems, kStages = Tuning::kStages;
  static constexpr int kTile = Tuning::kTile, kSlots = Tuning::kSlots;
  static constexpr int kVector = kPerVector<Bits>, kLine = Tuning::kLine;
  static constexpr int kLoadWarp = kThreads / 32, kSectionWarp = kLoadWarp + 1;
  static constexpr int kQueue = 2;  // sections that are found ahead
  static constexpr int kSectionStride = 1024;

  /// Outputs [begin, end) of the merge, which come from a[a_begin, a_end) and b[begin - a_begin, b_end()). The last
  /// section that a block gets is empty.
  struct Section {
    int64_t begin, end, a_begin, a_end;
    __device__ __forceinline__ int64_t b_end() const { return end - a_end; }
  };
  /// What a stage holds: the first slot of each part, how many keys are to be merged, and where they go. None: the end.
  struct Tile {
    int a_slot, a_count, b_slot, count;
    int64_t begin;
  };
  struct Shared {
    SharedBarrier loaded[kStages], stored[kStages];  // of a stage
    SharedBarrier found[kQueue], taken[kQueue];      // of a section
    Tile tiles[kStages];
    Section sections[kQueue];
  };
  static constexpr int kStagesOffset = (sizeof(Shared) + 127) / 128 * 128;
  static constexpr int kStageBytes = kSlots * static_cast<int>(sizeof(Bits));
  static constexpr int kSharedBytes = kStagesOffset + kStages * kStageBytes;
  static_assert(kStageBytes % 128 == 0);
  static_assert(kSharedBytes <= Tuning::kMaxSharedBytes);

  static __device__ __forceinline__ void SetUp(Shared& shared) {
    if (threadIdx.x != 0) return;
    for (int i = 0; i < kStages; ++i) {
      shared.loaded[i].Init(kLoadArrivals);
      shared.stored[i].Init(1);
    }
    for (int i = 0; i < kQueue; ++i) {
      shared.found[i].Init(1);
      shared.taken[i].Init(1);
    }
    PublishBarriers();
  }

  /// How many of the first `diagonal` outputs come from a, known to be from `low` to `high`: kLanes lanes probe at
  /// `stride` around `near` first, and then what that leaves.
  template <int kLanes>
  static __device__ __forceinline__ int64_t Split(const Pass& pass, int64_t diagonal, int64_t low, int64_t high,
                                                  int64_t near, int stride) {
    const int lane = static_cast<int>(threadIdx.x) % kLanes, first_lane = static_cast<int>(threadIdx.x) % 32 - lane;
    constexpr unsigned kAll = kLanes == 32 ? ~0u : (1u << kLanes) - 1;
    const auto is_past = [&](int64_t i) { return pass.IsPast(diagonal, i); };
    const int64_t first = near - kLanes / 2 * stride, probe = first + lane * stride;
    const unsigned votes = __ballot_sync(kAll << first_lane, probe >= high || (probe >= low && is_past(probe)));
    const unsigned past = votes >> first_lane & kAll;
    const int before = past == 0 ? kLanes : __ffs(static_cast<int>(past)) - 1;
    if (before > 0) low = max(low, min(high, first + (before - 1) * stride + 1));
    if (before < kLanes) high = max(low, min(high, first + before * stride));
    return CoRankByLanes<kLanes>(low, high, is_past);
  }

  /// One warp: takes sections and searches their beginnings and ends, half of the lanes each.
  static __device__ __forceinline__ void FindSections(const Pass& pass, Shared& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int number = 0;; ++number) {
      unsigned taken = blockIdx.x;
      if (number > 0 && lane == 0) taken = gridDim.x + atomicAdd(&pass.d_state->next_section, 1u);
      taken = __shfl_sync(~0u, taken, 0);
      const int64_t begin = min(pass.count(), pass.sections.Begin(taken) * kTile);
      const int64_t end = min(pass.count(), pass.sections.Begin(taken + 1) * kTile);
      const int64_t diagonal = lane < 16 ? begin : end;
      const int64_t low = max(int64_t{0}, diagonal - pass.b_count), high = min(diagonal, pass.a_count);
      const double a_share = static_cast<double>(pass.a_count) / static_cast<double>(pass.count());
      const int64_t split = Split<16>(pass, diagonal, low, high,
                                      static_cast<int64_t>(static_cast<double>(diagonal) * a_share), kSectionStride);
      __syncwarp();
      const int64_t a_begin = __shfl_sync(~0u, split, 0), a_end = __shfl_sync(~0u, split, 31);
      const int place = number % kQueue;
      if (number >= kQueue) shared.taken[place].Wait(number / kQueue - 1);
      __syncwarp();  // no lane waits for a phase that two others have followed
      if (lane == 0) {
        shared.sections[place] = {begin, end, a_begin, a_end};
        shared.found[place].Arrive();
      }
      if (begin == end) return;
    }
  }

  /// Loads keys[begin, begin + count) and up to kItems more, which a thread may look at past the end of its piece, to
  /// the slots from `line` on, at the place that the first has in a line of 128 bytes: bulk copies are slow between
  /// unlike places. Behind the end of the array lies a key that comes after all others. Returns the first one's slot.
  /// What a bulk copy must not move is loaded at once.
  static __device__ __forceinline__ int LoadPart(const Pass& pass, const Bits* keys, int64_t keys_count, int64_t begin,
                                                 int count, Bits* line, LoadRange& range) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int slot = static_cast<int>(reinterpret_cast<uintptr_t>(keys + begin) / sizeof(Bits) % kLine);
    const int phase = slot % kVector;
    const int wanted = static_cast<int>(min(int64_t{count + kItems}, keys_count - begin));
    const int64_t zero = begin - slot;  // the key in line[0], were it loaded
    const int end = (slot + wanted + kVector - 1) / kVector * kVector;
    const bool begins = begin < phase;
    const bool ends = zero + end > keys_count;
    const int from = slot - phase + (begins ? kVector : 0);
    const int to = max(from, ends ? static_cast<int>((keys_count - zero) / kVector * kVector) : end);
    if (begins && lane >= phase && lane < kVector && begin + lane - phase < keys_count) {
      line[slot + lane - phase] = keys[begin + lane - phase];
    }
    if (ends && lane < kVector && zero + to + lane >= begin && zero + to + lane < keys_count) {
      line[to + lane] = keys[zero + to + lane];
    }
    if (wanted < count + kItems && lane == 0) line[slot + wanted] = pass.order.Decode(kLastElement<Bits>);
    range = {line + from, keys + (zero + from), (to - from) * static_cast<int>(sizeof(Bits))};
    return slot;
  }

  /// One warp: searches where the tiles of all sections begin, and fills the stages.
  static __device__ __forceinline__ void LoadSections(const Pass& pass, Shared& shared, char* stages) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int number = 0;  // of the tile
    int expected = static_cast<int>(kTile * (static_cast<double>(pass.a_count) / static_cast<double>(pass.count())));
    for (int section_number = 0;; ++section_number) {
      const int place = section_number % kQueue;
      shared.found[place].Wait(section_number / kQueue);
      const Section section = shared.sections[place];
      __syncwarp();
      if (lane == 0) shared.taken[place].Arrive();
      if (section.begin == section.end) break;
      int64_t begin = section.begin, a_begin = section.a_begin;
      if (section.a_end < a_begin || section.b_end() < begin - a_begin) {
        // Sections of inputs that are not sorted may not follow one another.
        if (lane == 0) pass.d_state->suspect = 1;
        continue;
      }
      while (begin < section.end) {
        const int count = static_cast<int>(min(int64_t{kTile}, section.end - begin));
        const int64_t end = begin + count;
        const int64_t low = max(a_begin, end - section.b_end()), high = min(a_begin + count, section.a_end);
        // All four groups of lanes do the same: more probes would cost more memory traffic than they save time.
        const int64_t a_end = Split<8>(pass, end, low, high, a_begin + expected, Tuning::kProbeStride);
        __syncwarp();
        expected = static_cast<int>(a_end - a_begin);
        LoadTile(pass, begin, count, a_begin, a_end, number++, shared, stages);
        begin = end;
        a_begin = a_end;
      }
    }
    const int stage = number % kStages;
    if (number >= kStages) shared.stored[stage].Wait(number / kStages - 1);
    if (lane == 0) shared.tiles[stage].count = 0;
    const LoadRange nothing[1] = {};
    LoadRanges(nothing, shared.loaded[stage]);
  }

  /// Loads tile number `number` of the block: outputs [begin, begin + count), of which those from a are
  /// a[a_begin, a_end).
  static __device__ __forceinline__ void LoadTile(const Pass& pass, int64_t begin, int count, int64_t a_begin,
                                                  int64_t a_end, int number, Shared& shared, char* stages) {
    const int stage = number % kStages;
    if (number >= kStages) shared.stored[stage].Wait(number / kStages - 1);
    Bits* const slots = reinterpret_cast<Bits*>(stages + stage * kStageBytes);
    const int a_count = static_cast<int>(a_end - a_begin);
    LoadRange ranges[2];
    const int a_slot = LoadPart(pass, pass.a, pass.a_count, a_begin, a_count, slots, ranges[0]);
    const int b_line = (a_slot + a_count + kItems + kLine) / kLine * kLine;
    const int b_slot =
        b_line + LoadPart(pass, pass.b, pass.b_count, begin - a_begin, count - a_count, slots + b_line, ranges[1]);
    if (threadIdx.x % 32 == 0) shared.tiles[stage] = {a_slot, a_count, b_slot, count, begin};
    LoadRanges(ranges, shared.loaded[stage]);
  }

  /// Waits for the merging threads.
  static __device__ __forceinline__ void MergersBarrier() {
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
  }

  /// Whether one of the keys from `slot` on that this thread looks at comes after the next one.
  static __device__ __forceinline__ bool IsUnsorted(const Pass& pass, const Bits* slots, int slot, int count) {
    bool unsorted = false;
    for (int i = slot + static_cast<int>(threadIdx.x); i < slot + count; i += kThreads) {
      unsorted |= pass.order.Before(slots[i + 1], slots[i]);
    }
    return unsorted;
  }

  /// The other warps: merge each stage in place and store it.
  static __device__ __forceinline__ void MergeTiles(const Pass& pass, Shared& shared, char* stages) {
    const int thread = static_cast<int>(threadIdx.x);
    const auto code = [&](Bits key) { return pass.order.Encode(key); };
    bool unsorted = false;
    for (int number = 0;; ++number) {
      const int stage = number % kStages;
      shared.loaded[stage].Wait(number / kStages);
      const Tile tile = shared.tiles[stage];
      if (tile.count == 0) break;
      Bits* const slots = reinterpret_cast<Bits*>(stages + stage * kStageBytes);
      const uint32_t address = SharedAddress(slots);
      unsorted |= IsUnsorted(pass, slots, tile.a_slot, tile.a_count);
      unsorted |= IsUnsorted(pass, slots, tile.b_slot, tile.count - tile.a_count);

      Bits* const out = pass.out + tile.begin;
      const int out_slot = PhaseOf(out);
      PairChunk chunk;
      chunk.a_begin = tile.a_slot;
      chunk.a_end = tile.a_slot + tile.a_count;
      chunk.b_begin = tile.b_slot;
      chunk.b_end = tile.b_slot + tile.count - tile.a_count;
      chunk.first = min(thread * kItems, tile.count);
      chunk.count = min(kItems, tile.count - chunk.first);
      chunk.out = out_slot + chunk.first;
      Bits keys[kItems];
      MergeDistinct<kItems>(address, chunk, keys, /*has_last=*/true, code);
      MergersBarrier();
#pragma unroll
      for (int i = 0; i < kItems; ++i) keys[i] = pass.order.Decode(keys[i]);
      WriteChunk<kItems>(address, chunk, keys);
      PublishToStores();
      MergersBarrier();
      StoreStage(slots + out_slot, out, tile.count);
      if (thread == 0 && number > 0) shared.stored[(number - 1) % kStages].Arrive();
    }
    if (unsorted) pass.d_state->suspect = 1;
    if (thread == 0) WaitUntilStoresHaveRead<0>();
  }

  /// Stores tile[0, count); returns when the tile before may be overwritten, once all mergers are here.
  static __device__ __forceinline__ void StoreStage(const Bits* tile, Bits* out, int count) {
    if constexpr (kHasBulkCopies) {
      const int thread = static_cast<int>(threadIdx.x);
      const int head = min(count, (kVector - PhaseOf(out)) % kVector);
      const int tail = head + (count - head) / kVector * kVector;
      if (thread == 0) {
        StoreRange(out + head, tile + head, (tail - head) * static_cast<int>(sizeof(Bits)));
        WaitUntilStoresHaveRead<1>();
      }
      if (thread < head) out[thread] = tile[thread];
      if (tail + thread < count) out[tail + thread] = tile[tail + thread];
    } else {
      StoreTile<kThreads>(tile, out, count);
    }
  }
};

template <typename Bits>
__global__ void __launch_bounds__(BulkMergeTuning<sizeof(Bits)>::kLaunchThreads, BulkMergeTuning<sizeof(Bits)>::kBlocks)
    BulkMergeKernel(const __grid_constant__ BulkPass<Bits> pass) {
  using Merger = BulkMerger<Bits>;
  extern __shared__ __align__(128) char bulk_merge_memory[];
  typename Merger::Shared& shared = *reinterpret_cast<typename Merger::Shared*>(bulk_merge_memory);
  char* const stages = bulk_merge_memory + Merger::kStagesOffset;
  Merger::SetUp(shared);
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == Merger::kSectionWarp) {
    Merger::FindSections(pass, shared);
  } else if (warp == Merger::kLoadWarp) {
    Merger::LoadSections(pass, shared, stages);
  } else {
    Merger::MergeTiles(pass, shared, stages);
  }
}

template <typename Bits>
cudaError_t Launch(const MergePair& pair, const KeyOrder<Bits, false>& order, BulkMergeState* d_state,
                   cudaStream_t stream) {
  using Merger = BulkMerger<Bits>;
  using Tuning = typename Merger::Tuning;
  DeviceTraits device;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  const auto kernel = BulkMergeKernel<Bits>;
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Merger::kSharedBytes));
  const int64_t most_blocks = int64_t{device.multiprocessors} * Tuning::kBlocks;
  const BulkSections sections(CeilDiv(pair.count(), Tuning::kTile), most_blocks, Tuning::kLongTiles,
                              Tuning::kShortTiles);
  const int64_t blocks = std::min(sections.count(), most_blocks);
  const BulkPass<Bits> pass{static_cast<const Bits*>(pair.a_keys),
                            static_cast<const Bits*>(pair.b_keys),
                            static_cast<Bits*>(pair.keys_out),
                            pair.a_count,
                            pair.b_count,
                            sections,
                            order,
                            d_state};
  kernel<<<static_cast<unsigned>(blocks), Tuning::kLaunchThreads, Merger::kSharedBytes, stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace

cudaError_t BulkMerge(const MergePair& pair, const MergeKind& kind, BulkMergeState* d_state, cudaStream_t stream) {
  if (KeyBytes(kind.key_type) == 4) {
    return Launch(pair, KeyOrder<uint32_t, false>(kind.key_type, kind.order), d_state, stream);
  }
  return Launch(pair, KeyOrder<uint64_t, false>(kind.key_type, kind.order), d_state, stream);
}

}  // namespace corank::cuda
