// Merges two arrays with blocks that stream: AUTO's choice for keys of 4 and 8 bytes without values.
//
// Algorithm: blocks take sections of a few output tiles, one after the other. In a block, one warp takes the next
//            section and searches its beginning and end in the inputs. Another warp searches the beginnings of its
//            tiles, near the place that the previous tile suggests, and loads their parts of both inputs into a ring of
//            stages with bulk copies. The other warps merge: a thread finds its piece of the tile by merge path, merges
//            it in registers and writes it back to the stage, which a bulk copy stores. There is no partition in
//            advance, and all blocks work close together in memory. Float keys merge as integers, except in the few
//            tiles with numbers of both signs or NaNs.
// Work: O(n + n / kItems * log(tile)).
// Memory: one read and one write of the keys, including the check that the inputs are sorted.
// Workspace: a BulkMergeState.
// Stability: equal keys have equal bits, or merge by rank with those of a first.
// Source: S. Odeh, O. Green et al., "Merge Path", 2012.
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
template <typename Bits, bool kFloat>
struct BulkPass {
  const Bits* a;
  const Bits* b;
  Bits* out;
  int64_t a_count, b_count;
  BulkSections sections;
  KeyOrder<Bits, kFloat> order;
  BulkMergeState* d_state;

  __device__ __forceinline__ int64_t count() const { return a_count + b_count; }

  __device__ __forceinline__ auto rank() const {
    return [this](Bits raw) { return order.RankOfRaw(raw); };
  }

  /// Whether key i of a comes after the first `diagonal` outputs.
  template <typename Rank>
  __device__ __forceinline__ bool IsPast(int64_t diagonal, int64_t i, Rank rank) const {
    return rank(b[diagonal - 1 - i]) < rank(a[i]);
  }
};

template <typename Bits, bool kFloat>
struct BulkMerger {
  using Pass = BulkPass<Bits, kFloat>;
  using Tuning = BulkMergeTuning<sizeof(Bits)>;
  static constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems, kStages = Tuning::kStages;
  static constexpr int kTile = Tuning::kTile, kSlots = Tuning::kSlots;
  static constexpr int kVector = kPerVector<Bits>, kLine = Tuning::kLine;
  static constexpr int kLoadWarp = kThreads / 32, kSectionWarp = kLoadWarp + 1;
  static constexpr int kQueue = 2;  // sections found ahead of time
  static constexpr int kSectionStride = 1024;

  /// Outputs [begin, end) of the merge, which come from a[a_begin, a_end) and b[begin - a_begin, b_end()). A block's
  /// last section is empty.
  struct Section {
    int64_t begin, end, a_begin, a_end;
    bool has_mask;  // whether MaskedRank may merge all keys
    Bits mask;
    __device__ __forceinline__ int64_t b_end() const { return end - a_end; }
  };
  /// A stage's part of an input: the first slot, the number of keys to merge, and the number of keys including those
  /// that threads may look at.
  struct Part {
    int slot, count, loaded;
    __device__ __forceinline__ int end() const { return slot + count; }
  };
  /// The contents of a stage and their destination. No keys mean the end.
  struct Tile {
    Part a, b;
    int64_t begin;
    bool has_mask;
    Bits mask;
    __device__ __forceinline__ int count() const { return a.count + b.count; }
  };
  struct Shared {
    SharedBarrier loaded[kStages], stored[kStages];  // of each stage
    SharedBarrier found[kQueue], taken[kQueue];      // of each section
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

  /// How many of the first `diagonal` outputs come from a: between `low` and `high`. First, kLanes lanes probe at
  /// `stride` around `near`; then they search the remaining range.
  template <int kLanes, typename Rank>
  static __device__ __forceinline__ int64_t Split(const Pass& pass, Rank rank, int64_t diagonal, int64_t low,
                                                  int64_t high, int64_t near, int stride) {
    const int lane = static_cast<int>(threadIdx.x) % kLanes, first_lane = static_cast<int>(threadIdx.x) % 32 - lane;
    constexpr unsigned kAll = kLanes == 32 ? ~0u : (1u << kLanes) - 1;
    const auto is_past = [&](int64_t i) { return pass.IsPast(diagonal, i, rank); };
    const int64_t first = near - kLanes / 2 * stride, probe = first + lane * stride;
    const unsigned votes = __ballot_sync(kAll << first_lane, probe >= high || (probe >= low && is_past(probe)));
    const unsigned past = votes >> first_lane & kAll;
    const int before = past == 0 ? kLanes : __ffs(static_cast<int>(past)) - 1;
    if (before > 0) low = max(low, min(high, first + (before - 1) * stride + 1));
    if (before < kLanes) high = max(low, min(high, first + before * stride));
    return CoRankByLanes<kLanes>(low, high, is_past);
  }

  /// Whether MaskedRank may merge the tiles of a section of sorted inputs: the keys have this order, and so do those
  /// that threads may look at after the section.
  static __device__ __forceinline__ bool SectionHasMask(const Pass& pass, const Section& section, Bits mask) {
    if constexpr (!kFloat) return true;
    const int64_t a_begin = section.a_begin, a_end = section.a_end;
    const int64_t b_begin = section.begin - a_begin, b_end = section.b_end();
    const auto have_mask = [&](const Bits* keys, int64_t count) {
      if (!HaveMask(pass.order, mask, keys, count)) return false;
      return count == 0 || (!pass.order.IsFloatZero(keys[0]) && !pass.order.IsFloatZero(keys[count - 1]));
    };
    if (!have_mask(pass.a + a_begin, a_end - a_begin) || !have_mask(pass.b + b_begin, b_end - b_begin)) return false;
    const Bits a_last = a_begin < a_end ? pass.a[a_end - 1] ^ mask : Bits{0};
    const Bits b_last = b_begin < b_end ? pass.b[b_end - 1] ^ mask : Bits{0};
    const auto follow = [&](const Bits* keys, int64_t end, int64_t keys_count) {
      if (end == keys_count) return true;
      return (keys[end] ^ mask) >= max(a_last, b_last) && pass.order.IsNumber(keys[min(end + kItems, keys_count) - 1]);
    };
    return follow(pass.a, a_end, pass.a_count) && follow(pass.b, b_end, pass.b_count);
  }

  /// One warp: takes sections and searches their beginnings and ends, with half of the lanes each.
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
      const int64_t split = Split<16>(pass, pass.rank(), diagonal, low, high,
                                      static_cast<int64_t>(static_cast<double>(diagonal) * a_share), kSectionStride);
      __syncwarp();
      const int64_t a_begin = __shfl_sync(~0u, split, 0), a_end = __shfl_sync(~0u, split, 31);
      Section section{begin, end, a_begin, a_end, /*has_mask=*/false, /*mask=*/0};
      // Sections of unsorted inputs may not be consecutive.
      if (begin < end && a_begin <= a_end && begin - a_begin <= section.b_end()) {
        section.mask = pass.order.SignMask(a_begin < a_end ? pass.a[a_begin] : pass.b[begin - a_begin]);
        section.has_mask = SectionHasMask(pass, section, section.mask);
      }
      const int place = number % kQueue;
      if (number >= kQueue) shared.taken[place].Wait(number / kQueue - 1);
      __syncwarp();  // no lane waits for a phase that two others have followed
      if (lane == 0) {
        shared.sections[place] = section;
        shared.found[place].Arrive();
      }
      if (begin == end) return;
    }
  }

  /// Loads keys[begin, begin + count), and up to kItems more that a thread may look at past the end of its piece, to
  /// the slots from `line` on. The first key keeps its place in a line of 128 bytes, because bulk copies between unlike
  /// places are slow. A key that comes after all others follows the end of the array. Keys that a bulk copy must not
  /// move are loaded directly.
  static __device__ __forceinline__ Part LoadPart(const Pass& pass, const Bits* keys, int64_t keys_count, int64_t begin,
                                                  int count, Bits* line, LoadRange& range) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int slot = static_cast<int>(reinterpret_cast<uintptr_t>(keys + begin) / sizeof(Bits) % kLine);
    const int phase = slot % kVector;
    const int wanted = static_cast<int>(min(int64_t{count + kItems}, keys_count - begin));
    const int64_t zero = begin - slot;  // the key that would be in line[0]
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
    return {slot, count, wanted};
  }

  /// One warp: searches the beginnings of the tiles of all sections, and fills the stages.
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
        // Sections of unsorted inputs may not be consecutive.
        if (lane == 0) pass.d_state->suspect = 1;
        continue;
      }
      while (begin < section.end) {
        const int count = static_cast<int>(min(int64_t{kTile}, section.end - begin));
        const int64_t end = begin + count;
        const int64_t low = max(a_begin, end - section.b_end()), high = min(a_begin + count, section.a_end);
        // All four groups of lanes do the same: more probes would cost more memory traffic than they save time.
        const auto split = [&](auto rank) {
          return Split<8>(pass, rank, end, low, high, a_begin + expected, Tuning::kProbeStride);
        };
        const int64_t a_end = section.has_mask ? split(MaskedRank<Bits>{section.mask}) : split(pass.rank());
        __syncwarp();
        expected = static_cast<int>(a_end - a_begin);
        LoadTile(pass, section, begin, count, a_begin, a_end, number++, shared, stages);
        begin = end;
        a_begin = a_end;
      }
    }
    const int stage = number % kStages;
    if (number >= kStages) shared.stored[stage].Wait(number / kStages - 1);
    if (lane == 0) shared.tiles[stage] = {};
    const LoadRange nothing[1] = {};
    LoadRanges(nothing, shared.loaded[stage]);
  }

  /// Loads tile number `number` of the block: outputs [begin, begin + count), with a[a_begin, a_end) from a.
  static __device__ __forceinline__ void LoadTile(const Pass& pass, const Section& section, int64_t begin, int count,
                                                  int64_t a_begin, int64_t a_end, int number, Shared& shared,
                                                  char* stages) {
    const int stage = number % kStages;
    if (number >= kStages) shared.stored[stage].Wait(number / kStages - 1);
    Bits* const slots = reinterpret_cast<Bits*>(stages + stage * kStageBytes);
    const int a_count = static_cast<int>(a_end - a_begin);
    LoadRange ranges[2];
    const Part a = LoadPart(pass, pass.a, pass.a_count, a_begin, a_count, slots, ranges[0]);
    const int b_line = (a.end() + kItems + kLine) / kLine * kLine;
    Part b = LoadPart(pass, pass.b, pass.b_count, begin - a_begin, count - a_count, slots + b_line, ranges[1]);
    b.slot += b_line;
    if (threadIdx.x % 32 == 0) shared.tiles[stage] = {a, b, begin, section.has_mask, section.mask};
    LoadRanges(ranges, shared.loaded[stage]);
  }

  /// A barrier of the merging threads.
  static __device__ __forceinline__ void MergersBarrier() {
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
  }

  static __device__ __forceinline__ bool AllMergers(bool predicate) {
    int all;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red.and.pred q, 1, %2, p; selp.s32 %0, 1, 0, q; }"
                 : "=r"(all)
                 : "r"(static_cast<int>(predicate)), "n"(kThreads)
                 : "memory");
    return all != 0;
  }

  /// Whether one of this thread's keys of a part comes after the next key.
  template <typename Rank>
  static __device__ __forceinline__ bool IsUnsorted(const Pass& pass, const Bits* slots, const Part& part, Rank rank) {
    bool unsorted = false;
    for (int i = part.slot + static_cast<int>(threadIdx.x); i + 1 < part.end(); i += kThreads) {
      unsorted |= rank(slots[i + 1]) < rank(slots[i]);
    }
    // The key after the last one may belong to the next tile, and have another sign.
    const bool ends = threadIdx.x == 0 && part.count > 0 && part.count < part.loaded;
    return unsorted || (ends && pass.order.Before(slots[part.end()], slots[part.end() - 1]));
  }

  /// As SectionHasMask, for a tile. All mergers look at all keys.
  static __device__ __forceinline__ bool TileHasMask(const Pass& pass, const Bits* slots, const Tile& tile, Bits mask) {
    const MaskedRank<Bits> rank{mask};
    bool has_mask = true;
    Bits last = 0;
    for (const Part& part : {tile.a, tile.b}) {
      has_mask &= HaveMask(pass.order, mask, slots + part.slot, part.count);
      if (part.count > 0) last = max(last, rank(slots[part.end() - 1]));
      for (int i = static_cast<int>(threadIdx.x); i + 1 < part.loaded; i += kThreads) {
        has_mask &= rank(slots[part.slot + i]) <= rank(slots[part.slot + i + 1]);
      }
    }
    has_mask &= rank(slots[tile.a.end()]) >= last && rank(slots[tile.b.end()]) >= last;
    return AllMergers(has_mask);
  }

  /// The other warps: merge each stage in place and store it.
  static __device__ __forceinline__ void MergeTiles(const Pass& pass, Shared& shared, char* stages) {
    const int thread = static_cast<int>(threadIdx.x);
    bool unsorted = false;
    for (int number = 0;; ++number) {
      const int stage = number % kStages;
      shared.loaded[stage].Wait(number / kStages);
      const Tile tile = shared.tiles[stage];
      if (tile.count() == 0) break;
      Bits* const slots = reinterpret_cast<Bits*>(stages + stage * kStageBytes);
      const uint32_t address = SharedAddress(slots);

      Bits* const out = pass.out + tile.begin;
      const int out_slot = PhaseOf(out);
      PairChunk chunk;
      chunk.a_begin = tile.a.slot;
      chunk.a_end = tile.a.end();
      chunk.b_begin = tile.b.slot;
      chunk.b_end = tile.b.end();
      chunk.first = min(thread * kItems, tile.count());
      chunk.count = min(kItems, tile.count() - chunk.first);
      chunk.out = out_slot + chunk.first;
      Bits keys[kItems];
      bool has_mask = true;
      Bits mask = pass.order.SignMask(0);
      if constexpr (kFloat) {
        has_mask = tile.has_mask;
        mask = tile.mask;
        if (!has_mask) {
          mask = pass.order.SignMask(slots[tile.a.count > 0 ? tile.a.slot : tile.b.slot]);
          has_mask = TileHasMask(pass, slots, tile, mask);
        }
      }
      if (has_mask) {
        const MaskedRank<Bits> rank{mask};
        unsorted |= IsUnsorted(pass, slots, tile.a, rank) || IsUnsorted(pass, slots, tile.b, rank);
        MergeDistinct<kItems, SplitSearch::kWhole>(address, chunk, keys, /*has_last=*/true, rank);
#pragma unroll
        for (int i = 0; i < kItems; ++i) keys[i] = rank(keys[i]);
      } else if constexpr (kFloat) {
        const auto rank = pass.rank();
        unsorted |= IsUnsorted(pass, slots, tile.a, rank) || IsUnsorted(pass, slots, tile.b, rank);
        MergeStable<kItems, SplitSearch::kWhole>(address, chunk, rank, keys);
      }
      MergersBarrier();
      WriteChunk<kItems>(address, chunk, keys);
      PublishToStores();
      MergersBarrier();
      StoreStage(slots + out_slot, out, tile.count());
      if (thread == 0 && number > 0) shared.stored[(number - 1) % kStages].Arrive();
    }
    if (unsorted) pass.d_state->suspect = 1;
    if (thread == 0) WaitUntilStoresHaveRead<0>();
  }

  /// Stores tile[0, count). When it returns, the previous tile may be overwritten once all mergers are here.
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

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(BulkMergeTuning<sizeof(Bits)>::kLaunchThreads, BulkMergeTuning<sizeof(Bits)>::kBlocks)
    BulkMergeKernel(const __grid_constant__ BulkPass<Bits, kFloat> pass) {
  using Merger = BulkMerger<Bits, kFloat>;
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

template <typename Bits, bool kFloat>
cudaError_t Launch(const MergePair& pair, const KeyOrder<Bits, kFloat>& order, BulkMergeState* d_state,
                   cudaStream_t stream) {
  using Merger = BulkMerger<Bits, kFloat>;
  using Tuning = typename Merger::Tuning;
  DeviceTraits device;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  const auto kernel = BulkMergeKernel<Bits, kFloat>;
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Merger::kSharedBytes));
  const int64_t most_blocks = int64_t{device.multiprocessors} * Tuning::kBlocks;
  const BulkSections sections(CeilDiv(pair.count(), Tuning::kTile), most_blocks, Tuning::kLongTiles,
                              Tuning::kShortTiles);
  const int64_t blocks = std::min(sections.count(), most_blocks);
  const BulkPass<Bits, kFloat> pass{static_cast<const Bits*>(pair.a_keys),
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
  return WithKeyOrder(kind.key_type, kind.order, [&](auto order) {
    if constexpr (sizeof(order.Encode(0)) < 4) {
      return cudaErrorInvalidValue;
    } else {
      return Launch(pair, order, d_state, stream);
    }
  });
}

}  // namespace corank::cuda
