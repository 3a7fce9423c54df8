// Odd-even mergesort: Batcher's network on the whole array, for any n.
//
// Algorithm: WindowSortKernel sorts windows in shared memory (the steps with 2p <= window). For every greater p, the
//            steps are grouped into passes of several steps each (ForEachBatcherPass in batcher.h), out of place.
//            StridedMergeKernel takes windows of rows that are `stride` positions apart and 32 columns wide, so that a
//            warp accesses whole lines. WindowMergeKernel does the last steps, down to k = 1, in windows of adjacent
//            positions. The index of a key breaks ties if equal keys are distinguishable, which means that an index is
//            wanted.
// Work: O(n log^2 n).
// Memory: for keys of 4 bytes, and each p = 2^13 ... n/2, one to four passes of one read and one write (55 passes for
//         10^9 keys). Passes with halos read 4/3 of the keys.
// Workspace: one array of keys and one of indices; another of each if the result is shorter than the input or not
//            wanted.
// Stability: by index; without indices, equal keys have equal bits.
// Source: K. E. Batcher, 1968; Knuth, TAOCP 3, 5.2.2.
#include <type_traits>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/batcher.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/pass_buffers.h"
#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {
namespace {

/// Replaces the index type if keys are sorted without an index.
struct NoIndex {};

template <typename Index>
inline constexpr bool kIndexed = !std::is_same_v<Index, NoIndex>;
template <typename Index>
inline constexpr int kIndexBytes = kIndexed<Index> ? static_cast<int>(sizeof(Index)) : 0;
template <typename Bits, typename Index>
inline constexpr OddEvenTuning kTuningOf = OddEvenTuningFor(sizeof(Bits), kIndexBytes<Index>);

/// Puts the lesser (key, index) pair at x.
template <typename Bits, typename Index, typename Position>
__device__ __forceinline__ void CompareExchange(Bits* keys, Index* indices, Position x, Position y) {
  const Bits x_key = keys[x], y_key = keys[y];
  if constexpr (kIndexed<Index>) {
    if (x_key < y_key) return;
    const Index x_index = indices[x], y_index = indices[y];
    if (x_key == y_key && x_index < y_index) return;
    indices[x] = y_index;
    indices[y] = x_index;
  } else {
    if (!(y_key < x_key)) return;
  }
  keys[x] = y_key;
  keys[y] = x_key;
}

template <typename Bits, typename Index>
struct Window {
  static constexpr int kSize = kTuningOf<Bits, Index>.window, kThreads = kTuningOf<Bits, Index>.threads;

  Bits keys[kSize];
  std::conditional_t<kIndexed<Index>, Index, NoIndex> indices[kIndexed<Index> ? kSize : 1];

  /// Step (p, k) on positions [first, end) of the window, which starts at a multiple of 2k.
  __device__ __forceinline__ void Step(const BatcherBlocks& blocks, int first, int end, bool is_first_of_p, int k) {
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < kSize / 2; c += kThreads) {
      const int x = BatcherLower(c, is_first_of_p ? k : 2 * k, k);
      if (x < first || x + k >= end || !blocks.Contain(x, k)) continue;
      CompareExchange(keys, indices, x, x + k);
    }
  }
};
static_assert(sizeof(Window<uint32_t, uint32_t>) <= kMaxSharedBytes &&
                  sizeof(Window<uint64_t, uint64_t>) <= kMaxSharedBytes,
              "a window does not fit");

/// Columns of a strided window: the lanes of a warp.
inline constexpr int kColumns = 32;
template <typename Bits, typename Index>
inline constexpr int kRowsOf = kTuningOf<Bits, Index>.window / kColumns;

template <typename Bits, typename Index>
__global__ void __launch_bounds__(kTuningOf<Bits, Index>.threads)
    WindowSortKernel(const Bits* keys_in, Bits* keys_out, Index* indices_out, int64_t count, int64_t result_count) {
  using Shared = Window<Bits, Index>;
  __shared__ Shared window;
  const int64_t start = int64_t{blockIdx.x} * Shared::kSize;
  const int size = static_cast<int>(Min<int64_t>(Shared::kSize, count - start));
  for (int i = static_cast<int>(threadIdx.x); i < size; i += Shared::kThreads) {
    window.keys[i] = keys_in[start + i];
    if constexpr (kIndexed<Index>) window.indices[i] = static_cast<Index>(start + i);
  }
  for (int p = 1; p < size; p *= 2) {
    const BatcherBlocks blocks(0, p);
    for (int k = p; k >= 1; k /= 2) window.Step(blocks, 0, size, k == p, k);
  }
  __syncthreads();
  const int stored = static_cast<int>(Max<int64_t>(0, Min<int64_t>(size, result_count - start)));
  for (int i = static_cast<int>(threadIdx.x); i < stored; i += Shared::kThreads) {
    if (keys_out != nullptr) keys_out[start + i] = window.keys[i];
    if constexpr (kIndexed<Index>) indices_out[start + i] = window.indices[i];
  }
}

/// A warp processes one row at a time, one column in each lane.
template <typename Bits, typename Index>
__global__ void __launch_bounds__(kTuningOf<Bits, Index>.threads)
    StridedMergeKernel(const Bits* keys_in, const Index* indices_in, Bits* keys_out, Index* indices_out, int64_t count,
                       const BatcherPass pass) {
  constexpr int kRows = kRowsOf<Bits, Index>, kWarps = kTuningOf<Bits, Index>.threads / 32;
  static_assert(kColumns == 32, "a lane has a column");
  __shared__ Window<Bits, Index> window;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t groups = pass.stride / kColumns;
  const int64_t column = blockIdx.x % groups * kColumns + lane;
  const int64_t core = blockIdx.x / groups * pass.core;
  const int64_t start = core - pass.halo;
  // Rows of this lane's column that exist.
  const int first = static_cast<int>(Max<int64_t>(0, -start));
  const int64_t last = count > column ? CeilDiv(count - column, pass.stride) : 0;
  const int end = static_cast<int>(Min<int64_t>(kRows, last - start));
  const int64_t origin = start * pass.stride + column;
  for (int row = warp; row < kRows; row += kWarps) {
    if (row < first || row >= end) continue;
    window.keys[row * kColumns + lane] = keys_in[origin + row * pass.stride];
    if constexpr (kIndexed<Index>) window.indices[row * kColumns + lane] = indices_in[origin + row * pass.stride];
  }
  const int64_t p = pass.p / pass.stride;
  const BatcherBlocks blocks(start, p);
  for (int k = static_cast<int>(pass.first_step / pass.stride); k >= 1; k /= 2) {
    __syncthreads();
#pragma unroll 4
    for (int c = warp; c < kRows / 2; c += kWarps) {
      const int x = BatcherLower(c, k == p ? k : 2 * k, k);
      if (x < first || x + k >= end || !blocks.Contain(x, k)) continue;
      CompareExchange(window.keys, window.indices, x * kColumns + lane, (x + k) * kColumns + lane);
    }
  }
  __syncthreads();
  const int stored_end = Min(end, static_cast<int>(pass.halo + pass.core));
  for (int row = static_cast<int>(pass.halo) + warp; row < stored_end; row += kWarps) {
    keys_out[origin + row * pass.stride] = window.keys[row * kColumns + lane];
    if constexpr (kIndexed<Index>) indices_out[origin + row * pass.stride] = window.indices[row * kColumns + lane];
  }
}

template <typename Bits, typename Index>
__global__ void __launch_bounds__(kTuningOf<Bits, Index>.threads)
    WindowMergeKernel(const Bits* keys_in, const Index* indices_in, Bits* keys_out, Index* indices_out, int64_t count,
                      int64_t result_count, int64_t p) {
  using Shared = Window<Bits, Index>;
  using Layout = BatcherWindow<Shared::kSize>;
  __shared__ Shared window;
  const int64_t core = int64_t{blockIdx.x} * Layout::kCore;
  const int64_t start = core - Layout::kHalo;
  const int first = static_cast<int>(Max<int64_t>(0, -start));
  const int end = static_cast<int>(Min<int64_t>(Shared::kSize, count - start));
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += Shared::kThreads) {
    window.keys[i] = keys_in[start + i];
    if constexpr (kIndexed<Index>) window.indices[i] = indices_in[start + i];
  }
  const BatcherBlocks blocks(start, p);
  for (int k = Layout::kFirstStep; k >= 1; k /= 2) window.Step(blocks, first, end, false, k);
  __syncthreads();
  const int stored = static_cast<int>(Min<int64_t>(Layout::kCore, result_count - core));
  for (int i = static_cast<int>(threadIdx.x); i < stored; i += Shared::kThreads) {
    if (keys_out != nullptr) keys_out[core + i] = window.keys[Layout::kHalo + i];
    if constexpr (kIndexed<Index>) indices_out[core + i] = window.indices[Layout::kHalo + i];
  }
}

template <typename Bits, typename Index>
cudaError_t RunOddEven(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  constexpr int kWindow = kTuningOf<Bits, Index>.window, kThreads = kTuningOf<Bits, Index>.threads;
  int last_pass = 0;
  ForEachBatcherPass<kWindow, kRowsOf<Bits, Index>>(sort.count, [&](const BatcherPass&) { ++last_pass; });
  const PassBuffers keys(workspace, sort.d_keys_out, sort.OutputsAreWhole(),
                         sort.count * static_cast<int64_t>(sizeof(Bits)), last_pass);
  const PassBuffers indices(workspace, sort.d_payload_out, sort.OutputsAreWhole(), sort.count * kIndexBytes<Index>,
                            kIndexed<Index> ? last_pass : 0);
  if (workspace.IsSizing()) return cudaSuccess;

  const auto keys_of = [&](int pass) { return static_cast<Bits*>(keys.Output(pass)); };
  const auto indices_of = [&](int pass) {
    return kIndexed<Index> ? static_cast<Index*>(indices.Output(pass)) : nullptr;
  };
  WindowSortKernel<Bits, Index><<<static_cast<unsigned>(CeilDiv(sort.count, kWindow)), kThreads, 0, stream>>>(
      static_cast<const Bits*>(sort.d_keys_in), keys_of(0), indices_of(0), sort.count,
      last_pass == 0 ? sort.result_count : sort.count);
  cudaError_t error = cudaGetLastError();

  int done = 0;
  ForEachBatcherPass<kWindow, kRowsOf<Bits, Index>>(sort.count, [&](const BatcherPass& pass) {
    if (error != cudaSuccess) return;
    const int from = done++;
    if (pass.stride > 1) {
      const int64_t blocks = CeilDiv(CeilDiv(sort.count, pass.stride), pass.core) * (pass.stride / kColumns);
      StridedMergeKernel<Bits, Index><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
          keys_of(from), indices_of(from), keys_of(done), indices_of(done), sort.count, pass);
    } else {
      const int64_t result_count = done == last_pass ? sort.result_count : sort.count;
      WindowMergeKernel<Bits, Index><<<static_cast<unsigned>(CeilDiv(result_count, pass.core)), kThreads, 0, stream>>>(
          keys_of(from), indices_of(from), keys_of(done), indices_of(done), sort.count, result_count, pass.p);
    }
    error = cudaGetLastError();
  });
  return error;
}

template <typename Bits>
cudaError_t WithIndex(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  if (sort.payload_bytes == 4) return RunOddEven<Bits, uint32_t>(sort, workspace, stream);
  if (sort.payload_bytes == 8) return RunOddEven<Bits, uint64_t>(sort, workspace, stream);
  return RunOddEven<Bits, NoIndex>(sort, workspace, stream);
}

}  // namespace

cudaError_t OddEvenMergesort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  switch (KeyBytes(sort.key_type)) {
    case 1:
      return WithIndex<uint8_t>(sort, workspace, stream);
    case 2:
      return WithIndex<uint16_t>(sort, workspace, stream);
    case 4:
      return WithIndex<uint32_t>(sort, workspace, stream);
    default:
      return WithIndex<uint64_t>(sort, workspace, stream);
  }
}

}  // namespace corank::cuda
