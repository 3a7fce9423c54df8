// Group: distinct neighbours, their counts and first indices, and reductions of their values.
//
// Algorithm: one compaction finds the heads of the groups, writes keys, first indices and the counts of all groups that
//            end in their tile, and checks the order. A second launch counts the last group of each tile. Each
//            reduction is a launch over the values and the bits of the heads. Another one ranks: a key counts the heads
//            up to its own, and looks up where its group and the next one begin. Segments become bits of the positions
//            where they begin, which are heads too. A key finds the last one before it in its tile, or else takes that
//            of the tile, which a warp searches.
// Work: O(count + segments), and a binary search over the tiles, or the segments and groups, for each tile.
// Memory: one read of the keys, one write of each output. A reduction reads the values once. Indices cost one scattered
//         read of the values and of their validity.
// Workspace: see group.h.
// Source: compact.cuh and run_reduce.cuh name theirs.
#include <cstdint>
#include <type_traits>

#include "kernels/common/column_sort.h"  // ValidityBytes
#include "kernels/common/key_order.h"
#include "kernels/common/run_reduction.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/gather_validity.h"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/set_heads.cuh"
#include "kernels/cuda/common/warp_scan.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/group/compact.cuh"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/group/group_reduce.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = GroupTuning::kThreads;

/// Where the first and the last group that begin in a tile begin. Unspecified if none does.
struct TileEnds {
  uint16_t first, last;
};

/// Sets the bits of the positions where segments begin. One thread for each segment.
__global__ void __launch_bounds__(kThreads)
    MarkSegmentsKernel(const int64_t* offsets, int64_t segment_count, uint32_t* bits) {
  const int64_t segment = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  const int64_t begin = segment < segment_count ? offsets[segment] : 0;
  SetHeads(begin, segment < segment_count && begin < offsets[segment + 1], bits);
}

/// Keeps the keys that differ from the previous one, and the first of each segment.
template <typename Bits, bool kFloat, bool kSegments>
struct FindHeads : CompactOp {
  static constexpr int kKeyBytes = sizeof(Bits);
  using Tuning = CompactTuning<kKeyBytes>;
  struct Rows {
    Bits keys[Tuning::kItems];
    Bits before;        // lane 0: the key before the first row
    uint32_t segments;  // lane i: the positions of row i where segments begin. Only with segments
    bool may_be_unsorted;
  };
  using Staged = Bits;
  const Bits* keys;
  KeyOrder<Bits, kFloat> order;
  Bits* keys_out;       // may be null
  void* firsts_out;     // may be null
  const void* indices;  // may be null
  int index_bytes;
  int64_t* counts_out;       // may be null
  TileEnds* ends;            // of each tile; null without counts
  FaultCell* unsorted_cell;  // null: no check
  const uint32_t* segments;  // the positions where segments begin

  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
    const Bits* const from = keys + first;
    rows.before = threadIdx.x % 32 == 0 && first > 0 && left > 0 ? from[-1] : Bits{0};
    LoadRows(from, left, Bits{0}, rows.keys);
    if constexpr (kSegments) {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      if (lane < Tuning::kItems) rows.segments = segments[(first - lane) / 32 + lane];
    }
    rows.may_be_unsorted = false;
  }
  /// The key before that of row i. A whole warp calls it.
  __device__ __forceinline__ Bits Previous(const Rows& rows, int i) const {
    const Bits last = i == 0 ? rows.before : __shfl_sync(kAllLanes, rows.keys[i == 0 ? 0 : i - 1], 31);
    const Bits previous = __shfl_up_sync(kAllLanes, rows.keys[i], 1);
    return threadIdx.x % 32 == 0 ? last : previous;
  }
  /// Whether a segment begins at row i. A whole warp calls it.
  __device__ __forceinline__ bool Begins(int64_t first, const Rows& rows, int i) const {
    if constexpr (kSegments) return (__shfl_sync(kAllLanes, rows.segments, i) >> (threadIdx.x % 32) & 1) != 0;
    return i == 0 && first == 0;
  }
  __device__ __forceinline__ bool Keeps(int64_t first, Rows& rows, int i) const {
    const Bits rank = order.RankOfRaw(rows.keys[i]), previous = order.RankOfRaw(Previous(rows, i));
    rows.may_be_unsorted |= rank < previous;  // or a segment begins, or a row is beyond the last key
    const bool begins = Begins(first, rows, i);
    return rank != previous || begins;
  }
  __device__ __forceinline__ void Check(int64_t first, int left, const Rows& rows) const {
    if (unsorted_cell == nullptr || !__any_sync(kAllLanes, rows.may_be_unsorted)) return;
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) {
      const bool is_before = order.RankOfRaw(rows.keys[i]) < order.RankOfRaw(Previous(rows, i));
      const bool begins = Begins(first, rows, i);
      if (is_before && 32 * i < left && !begins) atomicMax(unsorted_cell, PackFault(0, first + 32 * i));
    }
  }
  __device__ __forceinline__ Bits Stage(const Rows& rows, int i) const { return rows.keys[i]; }
  __device__ __forceinline__ void Write(const KeptTile<Bits>& kept) const {
    const int thread = static_cast<int>(threadIdx.x);
    constexpr int kStep = GroupTuning::kCompactThreads;
    if (keys_out != nullptr) {
      for (int i = thread; i < kept.count; i += kStep) keys_out[kept.before + i] = kept.staged[i];
    }
    if (firsts_out != nullptr) {
      if (index_bytes == 4) {
        WriteFirsts<uint32_t>(kept);
      } else {
        WriteFirsts<uint64_t>(kept);
      }
    }
    if (counts_out == nullptr) return;
    for (int i = thread; i < kept.count - 1; i += kStep) {
      counts_out[kept.before + i] = kept.places[i + 1] - kept.places[i];
    }
    if (thread == 0 && kept.count > 0) ends[kept.tile] = {kept.places[0], kept.places[kept.count - 1]};
  }
  template <typename Index>
  __device__ __forceinline__ void WriteFirsts(const KeptTile<Bits>& kept) const {
    for (int i = static_cast<int>(threadIdx.x); i < kept.count; i += GroupTuning::kCompactThreads) {
      const int64_t position = kept.first + kept.places[i];
      static_cast<Index*>(firsts_out)[kept.before + i] =
          indices != nullptr ? static_cast<const Index*>(indices)[position] : static_cast<Index>(position);
    }
  }
};

/// Counts the group that ends where the first one of a tile begins, and the last group of all. One thread for each
/// tile.
__global__ void __launch_bounds__(kThreads)
    CountLastKernel(const int64_t* kept_before, const TileEnds* ends, int tile_size, int64_t tiles, int64_t count,
                    int64_t* counts_out) {
  const int64_t tile = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (tile > tiles) return;
  const int64_t group = kept_before[tile] - 1;  // begins in an earlier tile
  const bool is_end = tile == tiles;
  if (group < 0 || (!is_end && kept_before[tile + 1] == group + 1)) return;
  // The last tile that begins with fewer groups before it than with this one.
  int64_t low = 0, high = tile - 1;
  if (kept_before[high] <= group) low = high;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (kept_before[middle] <= group) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const int64_t end = is_end ? count : tile * tile_size + ends[tile].first;
  counts_out[group] = end - (low * tile_size + ends[low].last);
}

/// What RankKernel reads and writes.
struct Ranking {
  RankMethod method;
  int64_t count;
  KeptBits heads;
  const void* starts;   // of the groups
  const void* indices;  // may be null
  int index_bytes;      // of both
  void* ranks;
  bool is_narrow;                  // ranks have 32 bits, but for kAverage
  const uint32_t* segments;        // the positions where they begin; null: one segment
  const int64_t* segment_offsets;  // of segment_count segments
  int64_t segment_count;
};

__device__ __forceinline__ int64_t ReadIndex(const void* indices, int index_bytes, int64_t i) {
  return index_bytes == 4 ? static_cast<int64_t>(static_cast<const uint32_t*>(indices)[i])
                          : static_cast<int64_t>(static_cast<const uint64_t*>(indices)[i]);
}

constexpr int kWords = GroupTuning::kRunTile / 32, kWordsOfLane = kWords / 32;
static_assert(kWords % 32 == 0, "a warp adds up the words of a tile");

__device__ __forceinline__ int LastPlace(int word, uint32_t bits) {
  return 32 * word + 31 - __clz(static_cast<int>(bits));
}

/// The segments of a run tile, in shared memory.
struct TileSegments {
  uint32_t bits[kWords];  // the positions where they begin
  int last[kWords];       // the place where the last one of earlier words begins, or -1
  int64_t begin;          // of the segment that holds the first position of the tile
  int64_t groups_before;  // of that segment, if it begins in an earlier tile

  /// The first warp calls it.
  __device__ __forceinline__ void LoadBits(const uint32_t* from) {
    const int lane = static_cast<int>(threadIdx.x);
    int own = -1;
#pragma unroll
    for (int i = 0; i < kWordsOfLane; ++i) {
      const int word = lane * kWordsOfLane + i;
      bits[word] = from[word];
      if (bits[word] != 0) own = LastPlace(word, bits[word]);
    }
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, own, step);
      if (lane >= step) own = max(own, other);
    }
    int before = __shfl_up_sync(kAllLanes, own, 1);
    if (lane == 0) before = -1;
#pragma unroll
    for (int i = 0; i < kWordsOfLane; ++i) {
      const int word = lane * kWordsOfLane + i;
      last[word] = before;
      if (bits[word] != 0) before = LastPlace(word, bits[word]);
    }
  }
  /// Another warp calls it. `earlier_groups` begin before the tile.
  __device__ __forceinline__ void FindFirst(const Ranking& ranking, int64_t first, int64_t earlier_groups) {
    const int64_t* const offsets = ranking.segment_offsets;
    const int64_t found =
        offsets[LastBefore(0, ranking.segment_count, [&](int64_t segment) { return offsets[segment] <= first; })];
    const int64_t group = LastBefore(
        0, earlier_groups, [&](int64_t at) { return ReadIndex(ranking.starts, ranking.index_bytes, at) <= found; });
    if (threadIdx.x % 32 != 0) return;
    begin = found;
    groups_before = group;
  }
};

/// Writes the ranks of a run tile.
template <bool kSegments>
__global__ void __launch_bounds__(kThreads)
    RankKernel(const __grid_constant__ Ranking ranking, const int64_t* group_count) {
  __shared__ TileSegments s_segments;
  __shared__ uint32_t s_bits[kWords];
  __shared__ int s_before[kWords];  // groups that begin in earlier words of the tile
  const int64_t tile = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < 32) {
    int own = 0;
#pragma unroll
    for (int i = 0; i < kWordsOfLane; ++i) {
      const int word = thread * kWordsOfLane + i;
      s_bits[word] = ranking.heads.bits[tile * kWords + word];
      own += __popc(s_bits[word]);
    }
    int before = ScanOverLanes(own) - own;
#pragma unroll
    for (int i = 0; i < kWordsOfLane; ++i) {
      const int word = thread * kWordsOfLane + i;
      s_before[word] = before;
      before += __popc(s_bits[word]);
    }
    if constexpr (kSegments) s_segments.LoadBits(ranking.segments + tile * kWords);
  }
  const int64_t groups = *group_count, groups_before = ranking.heads.before[tile];
  if constexpr (kSegments) {
    if (thread / 32 == 1) s_segments.FindFirst(ranking, tile * GroupTuning::kRunTile, groups_before);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < GroupTuning::kRunItems; ++i) {
    const int place = i * kThreads + thread;
    const int64_t position = tile * GroupTuning::kRunTile + place;
    if (position >= ranking.count) return;
    const uint32_t up_to = ~0u >> (31 - place % 32);
    int64_t group = groups_before + s_before[place / 32] + __popc(s_bits[place / 32] & up_to) - 1;
    int64_t begin = ReadIndex(ranking.starts, ranking.index_bytes, group);
    int64_t end = group + 1 < groups ? ReadIndex(ranking.starts, ranking.index_bytes, group + 1) : ranking.count;
    int64_t place_in_segment = position;
    if constexpr (kSegments) {
      const uint32_t bits = s_segments.bits[place / 32] & up_to;
      const int at = bits != 0 ? LastPlace(place / 32, bits) : s_segments.last[place / 32];
      const bool is_here = at >= 0;
      const int64_t segment = is_here ? tile * GroupTuning::kRunTile + at : s_segments.begin;
      group -= is_here ? groups_before + s_before[at / 32] + __popc(s_bits[at / 32] & ((1u << (at % 32)) - 1))
                       : s_segments.groups_before;
      begin -= segment;
      end -= segment;
      place_in_segment -= segment;
    }
    const int64_t to =
        ranking.indices == nullptr ? position : ReadIndex(ranking.indices, ranking.index_bytes, position);
    if (ranking.method == RankMethod::kAverage) {
      static_cast<double*>(ranking.ranks)[to] = AverageRank(begin, end);
    } else if (ranking.is_narrow) {
      static_cast<uint32_t*>(ranking.ranks)[to] =
          static_cast<uint32_t>(RankOf(ranking.method, place_in_segment, group, begin, end));
    } else {
      static_cast<uint64_t*>(ranking.ranks)[to] =
          static_cast<uint64_t>(RankOf(ranking.method, place_in_segment, group, begin, end));
    }
  }
}

/// One thread. `group_count` is null if there are no keys.
__global__ void WriteGroupReportKernel(const int64_t* group_count, const FaultCell* cells, GroupReport* d_report) {
  GroupReport report;
  if (group_count != nullptr) {
    if (cells[0] == kNoFault) {
      report.groups = *group_count;
      if (cells[1] != kNoFault) report.overflow = FaultIndex(cells[1]);
    } else {
      report.unsorted = FaultIndex(cells[0]);
    }
  }
  *d_report = report;
}

constexpr int kCells = 2;

struct Plan {
  int64_t tiles = 0;
  FaultCell* cells = nullptr;  // unsorted, overflow
  int64_t zeroed_bytes = 0;    // from the cells on
  CompactWork work;
  uint32_t* segments = nullptr;  // the positions where they begin; null: one segment
  TileEnds* ends = nullptr;      // null: no counts
  KeptBits heads;                // null: neither a reduction nor ranks
  void* starts = nullptr;        // of the groups; null: no ranks
  void* nodes = nullptr;
  void* values = nullptr;       // null: the caller's
  uint8_t* validity = nullptr;  // null: the caller's
};

Plan PlanOf(const GroupArgs& args, Workspace& workspace) {
  Plan plan;
  // The cells, the words and the bits of segments lie side by side, so that one fill clears them.
  const int tile_size = CompactTile(KeyBytes(args.key_type));
  plan.tiles = CeilDiv(args.count, int64_t{tile_size});
  const int64_t words = TileWords(plan.tiles);
  plan.zeroed_bytes = kCells * static_cast<int64_t>(sizeof(FaultCell)) + words * sizeof(TileWord);
  if (args.HasSegments()) plan.zeroed_bytes += plan.tiles * tile_size / 8;
  plan.cells = static_cast<FaultCell*>(workspace.CarveBytes(plan.zeroed_bytes));
  plan.work = {reinterpret_cast<TileWord*>(plan.cells + kCells), workspace.Carve<int64_t>(plan.tiles + 1)};
  if (args.HasSegments()) plan.segments = reinterpret_cast<uint32_t*>(plan.work.words + words);
  if (args.counts_out != nullptr) plan.ends = workspace.Carve<TileEnds>(plan.tiles);
  if (!args.Reduces() && args.ranks_out == nullptr) return plan;
  plan.heads.bits = workspace.Carve<uint32_t>(plan.tiles * tile_size / 32);
  plan.heads.before = workspace.Carve<int64_t>(plan.tiles * tile_size / GroupTuning::kRunTile + 1);
  if (args.ranks_out != nullptr) plan.starts = workspace.CarveBytes(args.count * IndexBytes(args.count - 1));
  if (!args.Reduces()) return plan;
  plan.nodes = workspace.CarveBytes(RunNodesBytes(args.count));
  if (args.indices == nullptr) return plan;
  if (args.ReadsValues()) plan.values = workspace.CarveBytes(args.count * KeyBytes(args.value_type));
  if (args.values_validity != nullptr) plan.validity = workspace.Carve<uint8_t>(ValidityBytes(args.count));
  return plan;
}

cudaError_t Reduce(const GroupArgs& args, const Plan& plan, cudaStream_t stream) {
  RunValues runs;
  runs.type = args.value_type;
  runs.count = args.count;
  runs.values = args.values;
  runs.validity = args.values_validity;
  runs.head_bits = plan.heads.bits;
  runs.runs_before = plan.heads.before;
  runs.nodes = plan.nodes;
  runs.overflow_cell = plan.cells + 1;
  const int index_bytes = IndexBytes(args.count - 1);
  if (plan.values != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.values, KeyBytes(args.value_type), args.indices, index_bytes, plan.values, args.count, stream));
    runs.values = plan.values;
  }
  if (plan.validity != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherValidity(args.values_validity, args.indices, index_bytes, plan.validity, args.count, stream));
    runs.validity = plan.validity;
  }
  if (args.sums_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(SumRuns(runs, args.sums_out, stream));
  if (args.minima_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(LeastOfRuns(runs, args.minima_out, stream));
  if (args.maxima_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(GreatestOfRuns(runs, args.maxima_out, stream));
  if (args.value_counts_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(CountRuns(runs, args.value_counts_out, stream));
  return cudaSuccess;
}

}  // namespace

int64_t RunNodesBytes(int64_t count) {
  // Each launch leaves a node for 256 of the one before: less than 2 nodes for each tile, in sums of up to 16 bytes.
  return 2 * RunTiles(count) * static_cast<int64_t>(sizeof(RunNode<Int128>));
}

int64_t GroupWorkspaceBytes(const GroupArgs& args) {
  if (args.count <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t Group(const GroupArgs& args, void* d_workspace, int64_t workspace_bytes, GroupReport* d_report,
                  cudaStream_t stream) {
  if (args.count < 0 || (args.ranks_out != nullptr && args.firsts_out != nullptr) ||
      workspace_bytes < GroupWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  Plan plan;
  const int64_t* group_count = nullptr;
  if (args.count > 0) {
    Workspace workspace(d_workspace);
    plan = PlanOf(args, workspace);
    const int64_t tiles = plan.tiles;
    group_count = plan.work.before + tiles;
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.cells, 0, static_cast<size_t>(plan.zeroed_bytes), stream));
    if (plan.segments != nullptr) {
      MarkSegmentsKernel<<<static_cast<unsigned>(CeilDiv(args.segment_count, int64_t{kThreads})), kThreads, 0,
                           stream>>>(args.segment_offsets, args.segment_count, plan.segments);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, args.order, [&](auto order) {
      using Traits = KeyOrderTraits<decltype(order)>;
      using Bits = typename Traits::Bits;
      const auto find_heads = [&](auto by_segments) {
        const FindHeads<Bits, Traits::kFloat, decltype(by_segments)::value> find{
            {},
            static_cast<const Bits*>(args.keys),
            order,
            static_cast<Bits*>(args.keys_out),
            plan.starts != nullptr ? plan.starts : args.firsts_out,
            plan.starts != nullptr ? nullptr : args.indices,
            IndexBytes(args.count - 1),
            args.counts_out,
            plan.ends,
            args.check_sorted ? plan.cells : nullptr,
            plan.segments};
        return Compact(find, args.count, plan.work, plan.heads, stream);
      };
      return plan.segments != nullptr ? find_heads(std::true_type()) : find_heads(std::false_type());
    }));
    if (args.counts_out != nullptr) {
      CountLastKernel<<<static_cast<unsigned>(CeilDiv(tiles + 1, int64_t{kThreads})), kThreads, 0, stream>>>(
          plan.work.before, plan.ends, CompactTile(KeyBytes(args.key_type)), tiles, args.count, args.counts_out);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    if (plan.starts != nullptr) {
      const Ranking ranking{args.rank_method,  args.count,
                            plan.heads,        plan.starts,
                            args.indices,      IndexBytes(args.count - 1),
                            args.ranks_out,    RankBytes(args.rank_method, args.count) == 4,
                            plan.segments,     args.segment_offsets,
                            args.segment_count};
      const auto rank = plan.segments != nullptr ? RankKernel<true> : RankKernel<false>;
      rank<<<static_cast<unsigned>(RunTiles(args.count)), kThreads, 0, stream>>>(ranking, group_count);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    if (args.Reduces()) CORANK_RETURN_IF_CUDA_ERROR(Reduce(args, plan, stream));
  }
  if (d_report == nullptr) return cudaSuccess;
  WriteGroupReportKernel<<<1, 1, 0, stream>>>(group_count, plan.cells, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
