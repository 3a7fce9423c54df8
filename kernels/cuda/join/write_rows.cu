// Writes the rows of a join from the rows of the left that have some (matches).
//
// Algorithm: a block writes a tile of the result. Two warps search for the first and the last match in it. Each match
//            sets a bit at its first row and stores its data in a slot; the slot of a row is the number of bits up to
//            it (a load-balancing search within the block). Every match has a row, so a tile never has more than it has
//            rows.
// Work: O(rows + tiles * log(matches)).
// Memory: one read of the matches and of the partners' row numbers, one write of the result.
// Workspace: none.
// Source: S. Baxter, moderngpu, "Relational Joins" and "Load-Balancing Search", 2013.
#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/warp_scan.cuh"
#include "kernels/cuda/join/join_tuning.h"
#include "kernels/cuda/join/write_rows.h"

namespace corank::cuda {
namespace {

using Tuning = JoinTuning;

/// Index: the unsigned type of row numbers. -1 is the complement of 0.
template <typename Index>
__global__ void __launch_bounds__(Tuning::kThreads)
    WriteRowsKernel(JoinMatches matches, RightRows right, JoinedRowsOut out) {
  constexpr int kTile = Tuning::kResultTile<sizeof(Index)>;
  constexpr int kWords = kTile / 32;
  static_assert(kWords == 32 || kWords == 64, "a lane sums up one or two words");
  __shared__ uint32_t s_bits[kWords];
  __shared__ int s_before[kWords];  // bits in earlier words
  __shared__ Index s_left[kTile];
  __shared__ Index s_shift[kTile];  // from the row of the result to the position of the partner, modulo the type
  __shared__ int64_t s_first_match, s_last_match;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const auto rows = static_cast<int64_t>(*matches.row_sum & kSumMask);
  const int64_t first = blockIdx.x * int64_t{kTile};
  if (rows > out.room || first >= rows) return;
  const int count = static_cast<int>(min(int64_t{kTile}, rows - first));
  if (warp < 2) {
    const int64_t row = warp == 0 ? first : first + count - 1;
    const auto found = LastBefore(0, static_cast<int64_t>(*matches.match_sum & kSumMask),
                                  [&](int64_t match) { return matches.starts[match] <= row; });
    if (lane == 0) *(warp == 0 ? &s_first_match : &s_last_match) = found;
  }
  if (thread < kWords) s_bits[thread] = 0;
  __syncthreads();

  const int64_t first_match = s_first_match;
  const int match_count = static_cast<int>(s_last_match - first_match) + 1;
  for (int i = thread; i < match_count; i += Tuning::kThreads) {
    const int64_t start = matches.starts[first_match + i];
    const int place = static_cast<int>(max(start - first, int64_t{0}));
    atomicOr(&s_bits[place / 32], 1u << (place % 32));
    s_left[i] = static_cast<const Index*>(matches.lefts)[first_match + i];
    s_shift[i] = static_cast<const Index*>(matches.begins)[first_match + i] - static_cast<Index>(start);
  }
  __syncthreads();
  if (warp == 0) {
    constexpr int kPerLane = kWords / 32;
    int own[kPerLane];
    int sum = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sum += own[i] = __popc(s_bits[lane * kPerLane + i]);
    int before = ScanOverLanes(sum) - sum;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      s_before[lane * kPerLane + i] = before;
      before += own[i];
    }
  }
  __syncthreads();

  auto* const left_out = static_cast<Index*>(out.left);
  auto* const right_out = static_cast<Index*>(out.right);
#pragma unroll 4
  for (int i = thread; i < count; i += Tuning::kThreads) {
    const int word = i / 32;
    const int slot = s_before[word] + __popc(s_bits[word] & (~0u >> (31 - lane))) - 1;
    const Index left = s_left[slot];
    const int64_t row = first + i;
    if (static_cast<std::make_signed_t<Index>>(left) < 0) {
      left_out[row] = ~left;
      right_out[row] = ~Index{0};
      continue;
    }
    const Index position = s_shift[slot] + static_cast<Index>(row);
    Index partner = position;
    if (right.rows != nullptr) {
      partner = right.row_bytes == 4 ? static_cast<Index>(static_cast<const uint32_t*>(right.rows)[position])
                                     : static_cast<Index>(static_cast<const uint64_t*>(right.rows)[position]);
    }
    left_out[row] = left;
    right_out[row] = partner;
  }
}

template <typename Index>
cudaError_t Launch(const JoinMatches& matches, const RightRows& right, const JoinedRowsOut& out, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(out.room, int64_t{Tuning::kResultTile<sizeof(Index)>}));
  WriteRowsKernel<Index><<<blocks, Tuning::kThreads, 0, stream>>>(matches, right, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t WriteJoinedRows(const JoinMatches& matches, const RightRows& right, const JoinedRowsOut& out,
                            cudaStream_t stream) {
  if (out.room == 0) return cudaSuccess;
  return out.index_bytes == 4 ? Launch<uint32_t>(matches, right, out, stream)
                              : Launch<uint64_t>(matches, right, out, stream);
}

}  // namespace corank::cuda
