// Relational join of two arrays of keys in any order.
//
// Algorithm: (1) Unless they are sorted, the keys of the right are sorted with their row numbers. (2) A table of
// buckets
//            (key_buckets.h) is made over them. (3) Each row of the left looks up its run of partners; so the left
//            needs no sort, and its matches are found in its order. The blocks learn how many rows and matches come
//            before theirs by decoupled look-back, and note the matches. (4) write_rows.cu writes a row for each pair.
//            (5) For right and full: a search marks each run of partners at its first key; each row of the right learns
//            the mark of its run, and a compaction appends those without one.
// Work: that of a sort of the right; O(left * log(keys in a bucket) + rows).
// Memory: that of a sort; one read of the left; scattered reads of table and keys, from the cache if they fit; one
// write
//         and read of 16 bytes for each match; one write of the result.
// Workspace: JoinWorkspaceBytes in join.h.
// Source: S. Baxter, moderngpu, "Relational Joins", 2013, which sorts both sides and searches along a merge path;
//         key_buckets.h, look_back.cuh and compact.cuh name their own.
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/common/key_buckets.h"
#include "kernels/common/key_order.h"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/common/warp_scan.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/group/compact.cuh"
#include "kernels/cuda/join/join.h"
#include "kernels/cuda/join/join_tuning.h"
#include "kernels/cuda/join/write_rows.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::cuda {
namespace {

using Tuning = JoinTuning;
static_assert(kSumMask == static_cast<TileSum>(kMostJoinRows), "sums stop where the report does");

/// The keys of a side, read as ranks.
template <typename Bits, bool kFloat>
struct RankedKeys {
  const Bits* keys;
  int64_t count;
  KeyOrder<Bits, kFloat> order;
  __device__ __forceinline__ Bits operator[](int64_t i) const { return order.RankOfRaw(keys[i]); }
  __device__ __forceinline__ KeyBuckets<Bits> Buckets() const {
    return KeyBuckets<Bits>((*this)[0], (*this)[count - 1], KeyBucketBits(count));
  }
};

template <typename Index, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    FillTableKernel(RankedKeys<Bits, kFloat> right, Index* table, int64_t entries) {
  const int64_t i = blockIdx.x * int64_t{Tuning::kThreads} + threadIdx.x;
  if (i < entries) table[i] = static_cast<Index>(right.Buckets().FirstOf(i, right, right.count));
}

/// What FindMatchesKernel writes. Null: not wanted.
struct MatchOutputs {
  TileSum* row_sums;
  TileSum* match_sums;  // null: every match has one row
  int64_t* starts;      // of JoinMatches
  void* lefts;
  void* begins;
  void* semi_out;  // the rows of the left, for kSemi and kAnti
  int64_t room;    // in semi_out
  uint8_t* has_partner;
};

/// Adds up a number of rows for each lane.
__device__ __forceinline__ int64_t SumRows(int64_t own) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(kAllLanes, own, step);
  return own;
}

/// The rows of earlier lanes.
__device__ __forceinline__ int64_t RowsBefore(int64_t own) {
  constexpr int64_t kMostNarrow = int64_t{1} << 26;
  if (__all_sync(kAllLanes, own <= kMostNarrow)) {
    const int narrow = static_cast<int>(own);
    return ScanOverLanes(narrow) - narrow;
  }
  return ScanOverLanes(own) - own;
}

template <typename Index, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    FindMatchesKernel(RankedKeys<Bits, kFloat> left, RankedKeys<Bits, kFloat> right, const Index* table, JoinKind kind,
                      MatchOutputs out) {
  __shared__ int64_t s_rows[Tuning::kWarps];
  __shared__ int s_matches[Tuning::kWarps];
  __shared__ int64_t s_rows_before, s_matches_before;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t tile = blockIdx.x;
  const int64_t first = tile * Tuning::kTile + warp * (32 * Tuning::kItems) + lane;
  const KeyBuckets<Bits> buckets = right.count > 0 ? right.Buckets() : KeyBuckets<Bits>();

  KeyRun<Index> runs[Tuning::kItems];
  int64_t rows = 0;
  int matches = 0;
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    const int64_t position = first + 32 * i;
    runs[i] = {0, 0};
    if (position < left.count && right.count > 0) runs[i] = FindRun(right, buckets, table, left[position]);
    const int64_t own = position < left.count ? JoinedRows(kind, static_cast<int64_t>(runs[i].count)) : 0;
    rows += own;
    matches += __popc(__ballot_sync(kAllLanes, own > 0));
    if (out.has_partner != nullptr && runs[i].count > 0) out.has_partner[runs[i].begin] = 1;
  }
  rows = SumRows(rows);
  if (lane == 0) {
    s_rows[warp] = rows;
    s_matches[warp] = matches;
  }
  __syncthreads();
  if (warp == 0) {
    int64_t sum = 0;
#pragma unroll
    for (int i = 0; i < Tuning::kWarps; ++i) sum += s_rows[i];
    const int64_t before = LookBack<true>(out.row_sums, tile, sum);
    if (lane == 0) s_rows_before = before;
  } else if (warp == 1 && out.match_sums != nullptr) {
    int sum = 0;
#pragma unroll
    for (int i = 0; i < Tuning::kWarps; ++i) sum += s_matches[i];
    const int64_t before = LookBack(out.match_sums, tile, sum);
    if (lane == 0) s_matches_before = before;
  }
  __syncthreads();
  if (out.starts == nullptr && out.semi_out == nullptr) return;

  int64_t start = s_rows_before;
  int64_t slot = out.match_sums != nullptr ? s_matches_before : start;
  for (int i = 0; i < warp; ++i) {
    start += s_rows[i];
    slot += s_matches[i];
  }
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    const int64_t position = first + 32 * i;
    const int64_t own = position < left.count ? JoinedRows(kind, static_cast<int64_t>(runs[i].count)) : 0;
    const uint32_t votes = __ballot_sync(kAllLanes, own > 0);
    const int64_t place = slot + __popc(votes & LanesBefore());
    slot += __popc(votes);
    if (out.semi_out != nullptr) {
      if (own > 0 && place < out.room) static_cast<Index*>(out.semi_out)[place] = static_cast<Index>(position);
      continue;
    }
    const int64_t before = RowsBefore(own);
    if (own > 0) {
      const auto row = static_cast<Index>(position);
      out.starts[place] = start + before;
      static_cast<Index*>(out.lefts)[place] = runs[i].count > 0 ? row : static_cast<Index>(~row);
      static_cast<Index*>(out.begins)[place] = runs[i].begin;
    }
    start += __shfl_sync(kAllLanes, before + own, 31);
  }
}

/// Writes to the row of each key of the right whether its run has a partner.
template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    MarkRightKernel(RankedKeys<Bits, kFloat> right, RightRows rows, const uint8_t* has_partner, uint8_t* is_matched) {
  const int64_t i = blockIdx.x * int64_t{Tuning::kThreads} + threadIdx.x;
  if (i >= right.count) return;
  int64_t row = i;
  if (rows.rows != nullptr) {
    row = rows.row_bytes == 4 ? static_cast<int64_t>(static_cast<const uint32_t*>(rows.rows)[i])
                              : static_cast<int64_t>(static_cast<const uint64_t*>(rows.rows)[i]);
  }
  is_matched[row] = has_partner[RunBegin(right, i)];
}

/// For Compact: appends the rows of the right without a partner to the result.
template <typename Index>
struct AppendUnmatched : CompactOp {
  const uint8_t* is_matched;
  const TileSum* row_sum;  // of the rows before them; null: none
  JoinedRowsOut out;

  static constexpr int kKeyBytes = sizeof(uint8_t);
  using Tuning = CompactTuning<kKeyBytes>;
  struct Rows {
    uint8_t is_matched[Tuning::kItems];
  };
  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
    LoadRows(is_matched + first, left, uint8_t{1}, rows.is_matched);
  }
  __device__ __forceinline__ bool Keeps(int64_t, const Rows& rows, int i) const { return rows.is_matched[i] == 0; }
  __device__ __forceinline__ void Write(const KeptTile<NothingStaged>& kept) const {
    const int64_t first = (row_sum == nullptr ? 0 : static_cast<int64_t>(*row_sum & kSumMask)) + kept.before;
    const int count = static_cast<int>(max(int64_t{0}, min(int64_t{kept.count}, out.room - first)));
    for (int i = static_cast<int>(threadIdx.x); i < count; i += GroupTuning::kCompactThreads) {
      static_cast<Index*>(out.left)[first + i] = ~Index{0};
      static_cast<Index*>(out.right)[first + i] = static_cast<Index>(kept.first + kept.places[i]);
    }
  }
};

/// Tiles of the compaction of rows of the right.
int64_t UnmatchedTiles(int64_t right_count) { return CompactTiles(right_count, AppendUnmatched<int32_t>::kKeyBytes); }

/// One thread. Numbers and cell are null if nothing wrote them; either output may be null.
__global__ void WriteJoinReportKernel(const TileSum* row_sum, const int64_t* unmatched, const FaultCell* cell,
                                      int64_t* count_out, JoinReport* d_report) {
  JoinReport report;
  report.rows = AddJoinRows(row_sum == nullptr ? 0 : static_cast<int64_t>(*row_sum & kSumMask),
                            unmatched == nullptr ? 0 : *unmatched);
  if (cell != nullptr && *cell != kNoFault) report.unsorted = FaultIndex(*cell);
  if (count_out != nullptr) *count_out = report.rows;
  if (d_report != nullptr) *d_report = report;
}

/// Arrays are null if the join does not need them.
struct Plan {
  int64_t tiles = 0;          // of the left
  TileSum* zeroed = nullptr;  // the cell and the sums below, which lie side by side
  int64_t zeroed_count = 0;
  FaultCell* unsorted_cell = nullptr;
  TileSum* row_sums = nullptr;
  TileSum* match_sums = nullptr;
  void* right_keys = nullptr;  // in order
  RightRows right_rows;
  void* sort_workspace = nullptr;
  int64_t sort_bytes = 0;
  void* table = nullptr;
  JoinMatches matches;
  uint8_t* has_partner = nullptr;
  uint8_t* is_matched = nullptr;
  CompactWork unmatched;
  int64_t bytes = 0;
};

SortArgs SortOf(const JoinArgs& args, const Plan& plan) {
  SortArgs sort;
  sort.key_type = args.key_type;
  sort.count = args.right_count;
  sort.keys_in = args.right;
  sort.keys_out = plan.right_keys;
  sort.indices_out = const_cast<void*>(plan.right_rows.rows);
  return sort;
}

Plan PlanOf(const JoinArgs& args, Workspace workspace) {
  Plan plan;
  const int64_t index_bytes = JoinIndexBytes(args.left_count, args.right_count);
  plan.tiles = CeilDiv(args.left_count, int64_t{Tuning::kTile});
  plan.zeroed_count = 1 + 2 * plan.tiles;
  plan.zeroed = workspace.Carve<TileSum>(plan.zeroed_count);
  plan.unsorted_cell = plan.zeroed;
  plan.row_sums = plan.zeroed + 1;
  plan.match_sums = plan.row_sums + plan.tiles;
  if (KeepsUnmatchedRight(args.kind)) {
    plan.has_partner = workspace.Carve<uint8_t>(args.right_count);
    plan.is_matched = workspace.Carve<uint8_t>(args.right_count);
    const int64_t tiles = UnmatchedTiles(args.right_count);
    plan.unmatched = {workspace.Carve<TileWord>(TileWords(tiles)), workspace.Carve<int64_t>(tiles + 1)};
  }
  if (!args.right_sorted && args.right_count > 0) {
    plan.right_rows.row_bytes = IndexBytes(args.right_count - 1);
    plan.right_keys = workspace.CarveBytes(args.right_count * KeyBytes(args.key_type));
    plan.right_rows.rows = workspace.CarveBytes(args.right_count * plan.right_rows.row_bytes);
    // The arrays of the matches take the same memory afterwards.
    Workspace of_sort = workspace;
    plan.sort_bytes = SortWorkspaceBytes(SortOf(args, plan), INT64_MAX);
    plan.sort_workspace = of_sort.CarveBytes(plan.sort_bytes);
    plan.bytes = of_sort.bytes();
  }
  if (args.right_count > 0) plan.table = workspace.CarveBytes(KeyBucketEntries(args.right_count) * index_bytes);
  if (!args.count_only && !IsLeftOnly(args.kind)) {
    plan.matches.capacity = args.left_count;
    plan.matches.starts = workspace.Carve<int64_t>(args.left_count);
    plan.matches.lefts = workspace.CarveBytes(args.left_count * index_bytes);
    plan.matches.begins = workspace.CarveBytes(args.left_count * index_bytes);
  }
  plan.bytes = std::max(plan.bytes, workspace.bytes());
  return plan;
}

template <typename Index, typename Bits, bool kFloat>
cudaError_t FindMatches(const JoinArgs& args, const Plan& plan, const RankedKeys<Bits, kFloat>& right,
                        cudaStream_t stream) {
  auto* const table = static_cast<Index*>(plan.table);
  const auto blocks_for = [](int64_t count) {
    return static_cast<unsigned>(CeilDiv(count, int64_t{Tuning::kThreads}));
  };
  if (right.count > 0) {
    const int64_t entries = KeyBucketEntries(right.count);
    FillTableKernel<<<blocks_for(entries), Tuning::kThreads, 0, stream>>>(right, table, entries);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (args.left_count > 0) {
    const RankedKeys<Bits, kFloat> left{static_cast<const Bits*>(args.left), args.left_count, right.order};
    MatchOutputs out{};
    out.row_sums = plan.row_sums;
    out.match_sums = plan.matches.starts == nullptr ? nullptr : plan.match_sums;
    out.starts = plan.matches.starts;
    out.lefts = plan.matches.lefts;
    out.begins = plan.matches.begins;
    out.semi_out = IsLeftOnly(args.kind) ? args.left_out : nullptr;
    out.room = args.max_rows;
    out.has_partner = right.count > 0 ? plan.has_partner : nullptr;
    FindMatchesKernel<<<static_cast<unsigned>(plan.tiles), Tuning::kThreads, 0, stream>>>(left, right, table, args.kind,
                                                                                          out);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (plan.has_partner == nullptr || right.count == 0) return cudaSuccess;
  MarkRightKernel<<<blocks_for(right.count), Tuning::kThreads, 0, stream>>>(right, plan.right_rows, plan.has_partner,
                                                                            plan.is_matched);
  return cudaGetLastError();
}

template <typename Index>
cudaError_t WriteResult(const JoinArgs& args, const Plan& plan, const TileSum* row_sum, cudaStream_t stream) {
  const JoinedRowsOut out{args.left_out, args.right_out, args.count_only ? 0 : args.max_rows,
                          static_cast<int>(sizeof(Index))};
  if (plan.matches.starts != nullptr && args.left_count > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(WriteJoinedRows(plan.matches, plan.right_rows, out, stream));
  }
  if (plan.unmatched.words == nullptr || args.right_count == 0) return cudaSuccess;
  const AppendUnmatched<Index> append{{}, plan.is_matched, row_sum, out};
  const auto zeroed_bytes = static_cast<size_t>(TileWords(UnmatchedTiles(args.right_count))) * sizeof(TileWord);
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.unmatched.words, 0, zeroed_bytes, stream));
  return Compact(append, args.right_count, plan.unmatched, KeptBits(), stream);
}

}  // namespace

int64_t JoinWorkspaceBytes(const JoinArgs& args) {
  if (args.left_count < 0 || args.right_count < 0) return 0;
  return PlanOf(args, Workspace()).bytes;
}

cudaError_t Join(const JoinArgs& args, void* d_workspace, int64_t workspace_bytes, JoinReport* d_report,
                 cudaStream_t stream) {
  if (args.left_count < 0 || args.right_count < 0 || args.kind < JoinKind::kInner || args.kind > JoinKind::kAnti ||
      args.max_rows < 0 || workspace_bytes < JoinWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  Plan plan = PlanOf(args, Workspace(d_workspace));
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(plan.zeroed, 0, static_cast<size_t>(plan.zeroed_count) * sizeof(TileSum), stream));
  if (plan.has_partner != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.has_partner, 0, static_cast<size_t>(args.right_count), stream));
  }
  if (plan.right_keys != nullptr) {
    OperatorReport unused;
    CORANK_RETURN_IF_CUDA_ERROR(
        Sort(SortOf(args, plan), plan.sort_workspace, plan.sort_bytes, &unused, stream, nullptr, INT64_MAX));
  }
  const bool has_left = args.left_count > 0, has_right = args.right_count > 0;
  const TileSum* const row_sum = has_left ? plan.row_sums + (plan.tiles - 1) : nullptr;
  plan.matches.row_sum = row_sum;
  plan.matches.match_sum = plan.match_sums + (plan.tiles - 1);
  const bool is_narrow = JoinIndexBytes(args.left_count, args.right_count) == 4;
  CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, Order::kAscending, [&](auto order) {
    using Traits = KeyOrderTraits<decltype(order)>;
    using Bits = typename Traits::Bits;
    const void* const keys = plan.right_keys == nullptr ? args.right : plan.right_keys;
    const RankedKeys<Bits, Traits::kFloat> right{static_cast<const Bits*>(keys), args.right_count, order};
    if (args.right_sorted) {
      SortedCheckGroup group;
      group.Add(args.right, args.right_count, 0);
      CORANK_RETURN_IF_CUDA_ERROR(CheckSorted(group, order, nullptr, plan.unsorted_cell, stream));
    }
    return is_narrow ? FindMatches<uint32_t>(args, plan, right, stream)
                     : FindMatches<uint64_t>(args, plan, right, stream);
  }));
  CORANK_RETURN_IF_CUDA_ERROR(is_narrow ? WriteResult<uint32_t>(args, plan, row_sum, stream)
                                        : WriteResult<uint64_t>(args, plan, row_sum, stream));
  if (d_report == nullptr && args.count_out == nullptr) return cudaSuccess;
  const int64_t* const unmatched =
      plan.unmatched.words != nullptr && has_right ? plan.unmatched.before + UnmatchedTiles(args.right_count) : nullptr;
  WriteJoinReportKernel<<<1, 1, 0, stream>>>(row_sum, unmatched, plan.unsorted_cell, args.count_out, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
