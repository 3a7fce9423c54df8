// Ranks of sorted rows: how many distinct rows there are up to each.
//
// Algorithm: the first row, and each whose predecessor in the order differs, begins a new rank. A warp takes rows of 32
//            positions and votes. A block adds up the votes of its tile, and finds the sum of earlier tiles by
//            decoupled look-back.
// Work: O(n), and a comparison of rows with equal codes.
// Memory: one read of the row numbers and the codes, one scattered write of the ranks; two random reads of each row
//         whose code is that of its predecessor.
// Workspace: a TileSum for each tile.
// Source: see look_back.cuh.
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/row_ranks.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/warp.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;
constexpr int kItems = Tuning::kRankItems;
constexpr int kWarps = Tuning::kThreads / 32;

template <typename Index, typename Rank>
__global__ void __launch_bounds__(Tuning::kThreads)
    RankRowsKernel(RowOrder order, const uint64_t* codes, const Index* rows, int64_t count, TileSum* sums,
                   Rank* ranks) {
  __shared__ int s_new[kWarps];
  __shared__ int64_t s_before;
  const int64_t tile = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t first = tile * Tuning::kRankTile + warp * (32 * kItems) + lane;

  uint32_t votes[kItems];  // the same in all lanes
  int found = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t position = first + 32 * i;
    bool is_new = position == 0;
    if (position > 0 && position < count) {
      is_new = codes != nullptr && codes[position] != codes[position - 1];
      if (!is_new) {
        const auto row = static_cast<int64_t>(rows[position]), previous = static_cast<int64_t>(rows[position - 1]);
        is_new = order.Compare(previous, row, 0) != 0;
      }
    }
    votes[i] = __ballot_sync(kAllLanes, is_new);
    found += __popc(votes[i]);
  }
  if (lane == 0) s_new[warp] = found;
  __syncthreads();
  int before_warp = 0, total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) before_warp = total;
    total += s_new[i];
  }
  if (warp == 0) {
    const int64_t before = LookBack(sums, tile, total);
    if (lane == 0) s_before = before;
  }
  __syncthreads();

  int64_t rank = s_before + before_warp;
  const uint32_t lanes_to_this = kAllLanes >> (31 - lane);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t position = first + 32 * i;
    if (position < count) ranks[rows[position]] = static_cast<Rank>(rank + __popc(votes[i] & lanes_to_this));
    rank += __popc(votes[i]);
  }
}

template <typename Index, typename Rank>
cudaError_t RankAs(const RowOrder& order, const uint64_t* d_codes, const void* d_rows, int64_t count, TileSum* d_sums,
                   void* d_ranks, cudaStream_t stream) {
  const int64_t tiles = CeilDiv(count, int64_t{Tuning::kRankTile});
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_sums, 0, static_cast<size_t>(tiles) * sizeof(TileSum), stream));
  RankRowsKernel<<<static_cast<unsigned>(tiles), Tuning::kThreads, 0, stream>>>(
      order, d_codes, static_cast<const Index*>(d_rows), count, d_sums, static_cast<Rank*>(d_ranks));
  return cudaGetLastError();
}

}  // namespace

cudaError_t RankRows(const RowOrder& order, const uint64_t* d_codes, const void* d_rows, int index_bytes, int64_t count,
                     void* d_ranks, Workspace& workspace, cudaStream_t stream) {
  auto* const d_sums = workspace.Carve<TileSum>(CeilDiv(count, int64_t{Tuning::kRankTile}));
  if (workspace.IsSizing()) return cudaSuccess;
  if (index_bytes == 8) return RankAs<uint64_t, uint64_t>(order, d_codes, d_rows, count, d_sums, d_ranks, stream);
  // The ranks of exactly 2^32 rows need one bit more than their numbers.
  if (IndexBytes(count) == 8) return RankAs<uint32_t, uint64_t>(order, d_codes, d_rows, count, d_sums, d_ranks, stream);
  return RankAs<uint32_t, uint32_t>(order, d_codes, d_rows, count, d_sums, d_ranks, stream);
}

}  // namespace corank::cuda
