// Odd-even mergesort: Batcher's network on the whole array, for any n.
//
// Algorithm: WindowSortKernel sorts windows in shared memory (the steps with 2p <= window). For every greater p, the
//            steps with large k are one in-place pass each (StepKernel); the last ones, k = window / 16 down to 1, are
//            one out-of-place pass (WindowMergeKernel) over overlapping windows, see BatcherWindow in batcher.h.
//            Ties are broken by the key's index where equal keys can be told apart (an index is wanted).
// Work: O(n log^2 n). Memory: with L = log2(n / window), 1 + L (L + 7) / 2 passes, each one read and one write; the
//       fused ones read 4/3.
// Workspace: one array of keys and one of indices; another of each where the result is shorter than the input or not
//            wanted.
// Stability: by index; without indices equal keys are the same bits.
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

/// Stands for the index type where keys are sorted alone.
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

  /// Step (p, k) on positions [first, end) of the window. The window starts at position `start` of the array, a
  /// multiple of 2k.
  __device__ __forceinline__ void Step(int64_t start, int first, int end, int64_t p, int k) {
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < kSize / 2; c += kThreads) {
      const int x = BatcherLower(c, k == p ? k : 2 * k, k);
      if (x < first || x + k >= end || !BatcherInBlock<int64_t>(start + x, p, k)) continue;
      CompareExchange(keys, indices, x, x + k);
    }
  }
};
static_assert(sizeof(Window<uint32_t, uint32_t>) <= kMaxSharedBytes &&
                  sizeof(Window<uint64_t, uint64_t>) <= kMaxSharedBytes,
              "a window does not fit");

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
    for (int k = p; k >= 1; k /= 2) window.Step(start, 0, size, p, k);
  }
  __syncthreads();
  const int stored = static_cast<int>(Max<int64_t>(0, Min<int64_t>(size, result_count - start)));
  for (int i = static_cast<int>(threadIdx.x); i < stored; i += Shared::kThreads) {
    if (keys_out != nullptr) keys_out[start + i] = window.keys[i];
    if constexpr (kIndexed<Index>) indices_out[start + i] = window.indices[i];
  }
}

template <typename Bits, typename Index>
__global__ void __launch_bounds__(kTuningOf<Bits, Index>.threads)
    StepKernel(Bits* keys, Index* indices, int64_t count, int64_t p, int64_t k) {
  const int64_t x = BatcherLower<int64_t>(int64_t{blockIdx.x} * blockDim.x + threadIdx.x, p, k);
  if (x + k < count && BatcherInBlock(x, p, k)) CompareExchange(keys, indices, x, x + k);
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
  for (int k = Layout::kFirstStep; k >= 1; k /= 2) window.Step(start, first, end, p, k);
  __syncthreads();
  const int stored = static_cast<int>(Min<int64_t>(Layout::kCore, result_count - core));
  for (int i = static_cast<int>(threadIdx.x); i < stored; i += Shared::kThreads) {
    if (keys_out != nullptr) keys_out[core + i] = window.keys[Layout::kHalo + i];
    if constexpr (kIndexed<Index>) indices_out[core + i] = window.indices[Layout::kHalo + i];
  }
}

template <typename Bits, typename Index>
cudaError_t RunOddEven(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  using Layout = BatcherWindow<kTuningOf<Bits, Index>.window>;
  constexpr int kWindow = kTuningOf<Bits, Index>.window, kThreads = kTuningOf<Bits, Index>.threads;
  const int64_t windows = CeilDiv(sort.count, kWindow);
  const int last_pass = CeilLog2(windows);
  const PassBuffers keys(workspace, sort.d_keys_out, sort.OutputsAreWhole(),
                         sort.count * static_cast<int64_t>(sizeof(Bits)), last_pass);
  const PassBuffers indices(workspace, sort.d_payload_out, sort.OutputsAreWhole(), sort.count * kIndexBytes<Index>,
                            kIndexed<Index> ? last_pass : 0);
  if (workspace.IsSizing()) return cudaSuccess;

  const auto keys_of = [&](int pass) { return static_cast<Bits*>(keys.Output(pass)); };
  const auto indices_of = [&](int pass) {
    return kIndexed<Index> ? static_cast<Index*>(indices.Output(pass)) : nullptr;
  };
  WindowSortKernel<Bits, Index><<<static_cast<unsigned>(windows), kThreads, 0, stream>>>(
      static_cast<const Bits*>(sort.d_keys_in), keys_of(0), indices_of(0), sort.count,
      last_pass == 0 ? sort.result_count : sort.count);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());

  for (int pass = 1; pass <= last_pass; ++pass) {
    const int64_t p = int64_t{kWindow} << (pass - 1);
    // Comparators are numbered block by block: the last one that starts below count is within half the whole blocks.
    const int64_t comparators = CeilDiv(sort.count, 2 * p) * p;
    const auto step_blocks = static_cast<unsigned>(CeilDiv(comparators, kThreads));
    for (int64_t k = p; k > Layout::kFirstStep; k /= 2) {
      StepKernel<<<step_blocks, kThreads, 0, stream>>>(keys_of(pass - 1), indices_of(pass - 1), sort.count, p, k);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    const int64_t result_count = pass == last_pass ? sort.result_count : sort.count;
    WindowMergeKernel<Bits, Index>
        <<<static_cast<unsigned>(CeilDiv(result_count, Layout::kCore)), kThreads, 0, stream>>>(
            keys_of(pass - 1), indices_of(pass - 1), keys_of(pass), indices_of(pass), sort.count, result_count, p);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return cudaSuccess;
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
