// Checks intervals for overlap with bits.
//
// Algorithm: (1) Every interval sets a bit for each of its elements. (2) If the number of set bits equals the number of
//            elements of all intervals, no two overlap, and all later kernels return immediately. (3) Every interval
//            clears its bits again. An interval that finds a bit already clear shares that element with another one.
//            The least such element is the start of the later interval of the first pair, because intervals before it
//            do not overlap. (4) The earlier interval contains the element and starts before it, or both start there.
//            Atomic operations change the words at the ends of an interval. The words in between are whole: a thread
//            takes a few, a warp takes more, and longer ones go to a list whose windows all blocks share.
// Work: O(n + elements / 64).
// Memory: one read of counts and offsets, one write of the bits in random order, one read of them; if intervals
//         overlap, three reads of counts and offsets.
// Workspace: a bit for each element of the destination, and 24 bytes for every 16,384 elements that move.
// Stability: among equal offsets, the interval with the lower number is the earlier one.
#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/interval_units.h"
#include "kernels/cuda/intervals/overlap_bits.h"

namespace corank::cuda {
namespace {

using Tuning = OverlapTuning;
using Word = unsigned long long;
constexpr int kWordBits = 64;
constexpr Word kAll = ~Word{0};

/// The whole words of an interval on the list.
struct LongInterval {
  int64_t first_word;
  int64_t words;
  int64_t first_window;  // of windows of Tuning::kWindow words, among those of the whole list
};

/// Zero before. A cell for a least number holds the complement of the number.
struct OverlapState {
  unsigned long long set;        // bits
  unsigned long long element;    // the least one that two intervals share
  unsigned long long holder;     // the interval that contains it and starts before it
  unsigned long long starter;    // the first interval that starts there
  unsigned long long restarter;  // the second interval that starts there
  LeftCount list;                // intervals on the list, and their windows
  unsigned blocks_done;          // blocks of NameKernel
};

/// A kernel argument.
struct OverlapCheck {
  const int64_t* offsets;
  const int64_t* counts;
  int64_t count;
  unsigned long long total;
  Word* d_words;
  int64_t words;
  OverlapState* d_state;
  LongInterval* d_list;

  __device__ __forceinline__ bool HasOverlap() const { return d_state->set != total; }
};

/// Lowers a cell of OverlapState to `number`. Most numbers are greater than the cell's and need no atomic operation.
__device__ __forceinline__ void Lower(unsigned long long* cell, int64_t number) {
  const auto complement = ~static_cast<unsigned long long>(number);
  if (complement > *static_cast<volatile unsigned long long*>(cell)) atomicMax(cell, complement);
}

/// Visits the words of intervals. Setting bits does not return the old word, so that no thread waits for it.
template <bool kClears>
struct Visitor {
  OverlapCheck check;

  __device__ __forceinline__ void Part(int64_t word, Word mask) const {
    if constexpr (kClears) {
      Found(word, mask & ~atomicAnd(check.d_words + word, ~mask));
    } else {
      atomicOr(check.d_words + word, mask);
    }
  }
  __device__ __forceinline__ void Whole(int64_t word) const {
    if constexpr (kClears) {
      Found(word, ~atomicExch(check.d_words + word, Word{0}));
    } else {
      check.d_words[word] = kAll;  // a race with others that set bits: all are set in the end
    }
  }
  __device__ __forceinline__ void Found(int64_t word, Word twice) const {
    if (twice != 0) Lower(&check.d_state->element, word * kWordBits + __ffsll(static_cast<long long>(twice)) - 1);
  }
};

/// Visits the words of the list.
template <bool kClears>
__device__ __forceinline__ void VisitList(const Visitor<kClears>& visitor) {
  const OverlapCheck& check = visitor.check;
  const LeftCount list = check.d_state->list;
  for (int64_t window = blockIdx.x; window < LeftWindows(list); window += gridDim.x) {
    const LongInterval found = check.d_list[TileOfWindow(check.d_list, LeftTiles(list), window)];
    const int64_t begin = (window - found.first_window) * Tuning::kWindow;
    const int64_t end = min(begin + Tuning::kWindow, found.words);
    for (int64_t word = begin + threadIdx.x; word < end; word += Tuning::kThreads) {
      visitor.Whole(found.first_word + word);
    }
  }
}

/// Step (3) of the algorithm; also step (1), except for the words of the list, which it makes.
template <bool kClears>
__global__ void __launch_bounds__(Tuning::kThreads) VisitKernel(const OverlapCheck check) {
  constexpr int kItems = Tuning::kItems;
  if (kClears && !check.HasOverlap()) return;
  const Visitor<kClears> visitor{check};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t tiles = CeilDiv(check.count, int64_t{Tuning::kThreads} * kItems);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = (tile * Tuning::kThreads + threadIdx.x) * kItems;
    int64_t counts[kItems], offsets[kItems] = {};
    LoadPairs(check.counts, first, check.count, counts);
    bool is_any = false;
#pragma unroll
    for (int i = 0; i < kItems; ++i) is_any |= counts[i] > 0;
    if (is_any) LoadPairs(check.offsets, first, check.count, offsets);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      int64_t next = 0, end = 0;  // range of whole words
      if (counts[i] > 0) {
        const int64_t last = offsets[i] + counts[i] - 1;
        const Word low = kAll << (offsets[i] % kWordBits), high = kAll >> (kWordBits - 1 - last % kWordBits);
        next = offsets[i] / kWordBits + 1;
        end = last / kWordBits;
        visitor.Part(next - 1, next > end ? low & high : low);
        if (next <= end) visitor.Part(end, high);
      }
      if (end - next <= Tuning::kOwnWords) {
        for (; next < end; ++next) visitor.Whole(next);
      } else if (end - next > Tuning::kWindow) {
        if constexpr (!kClears) {
          const LeftCount before = atomicAdd(&check.d_state->list, PackLeft(1, CeilDiv(end - next, Tuning::kWindow)));
          check.d_list[LeftTiles(before)] = {next, end - next, LeftWindows(before)};
        }
        next = end;
      }
      for (unsigned left = __ballot_sync(kAllLanes, next < end); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        const int64_t last = __shfl_sync(kAllLanes, end, owner);
        for (int64_t word = __shfl_sync(kAllLanes, next, owner) + lane; word < last; word += 32) visitor.Whole(word);
      }
    }
  }
  if constexpr (kClears) VisitList(visitor);
}

__global__ void __launch_bounds__(Tuning::kThreads) SetListKernel(const OverlapCheck check) {
  VisitList(Visitor<false>{check});
}

/// Step (2) of the algorithm.
__global__ void __launch_bounds__(Tuning::kThreads) CountKernel(const OverlapCheck check) {
  unsigned own = 0;
  for (int64_t word = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; word < check.words;
       word += int64_t{gridDim.x} * Tuning::kThreads) {
    own += static_cast<unsigned>(__popcll(check.d_words[word]));
  }
  own = __reduce_add_sync(kAllLanes, own);
  if (threadIdx.x % 32 == 0) atomicAdd(&check.d_state->set, static_cast<unsigned long long>(own));
}

/// Step (4) of the algorithm, and the report.
__global__ void __launch_bounds__(Tuning::kThreads)
    NameKernel(const OverlapCheck check, OperatorReport report, OperatorReport* d_report) {
  OverlapState& state = *check.d_state;
  if (!check.HasOverlap()) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *d_report = report;
    return;
  }
  const auto element = static_cast<int64_t>(~state.element);
  for (int64_t i = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; i < check.count;
       i += int64_t{gridDim.x} * Tuning::kThreads) {
    const int64_t offset = check.offsets[i], count = check.counts[i];
    if (count == 0 || offset > element || element - offset >= count) continue;
    if (offset < element) {
      Lower(&state.holder, i);
    } else {
      // The greater of two complements is the lesser interval. The other one proceeds to the second cell.
      const auto complement = ~static_cast<unsigned long long>(i);
      const unsigned long long other = min(complement, atomicMax(&state.starter, complement));
      if (other != 0) atomicMax(&state.restarter, other);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&state.blocks_done, 1u) + 1 < gridDim.x) return;
  __threadfence();
  const auto* const cells = static_cast<const volatile OverlapState*>(&state);
  const bool has_holder = cells->holder != 0;
  report.fault = OperatorReport::Fault::kOverlapping;
  report.index = static_cast<int64_t>(~(has_holder ? cells->starter : cells->restarter));
  report.other = static_cast<int64_t>(~(has_holder ? cells->holder : cells->starter));
  *d_report = report;
}

OverlapCheck Carve(const MoveArgs& args, Workspace& workspace) {
  OverlapCheck check{};
  check.offsets = args.destination_offsets;
  check.counts = args.counts;
  check.count = args.interval_count;
  check.total = static_cast<unsigned long long>(args.total);
  check.words = CeilDiv(args.destination_count, kWordBits);
  check.d_state = workspace.Carve<OverlapState>(1);
  check.d_words = workspace.Carve<Word>(check.words);
  check.d_list = workspace.Carve<LongInterval>(args.total / (int64_t{Tuning::kWindow} * kWordBits));
  return check;
}

unsigned BlocksFor(int64_t items) {
  return static_cast<unsigned>(Clamp(CeilDiv(items, Tuning::kThreads), 1, Tuning::kBlocks));
}

}  // namespace

bool TakesOverlapBits(const MoveArgs& args) {
  return args.interval_count >= Tuning::kLeastIntervals &&
         args.destination_count / Tuning::kMostElements <= args.interval_count;
}

int64_t OverlapBitsWorkspaceBytes(const MoveArgs& args) {
  Workspace workspace;
  Carve(args, workspace);
  return workspace.bytes();
}

cudaError_t CheckOverlapBits(const MoveArgs& args, void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
  Workspace workspace(d_workspace);
  const OverlapCheck check = Carve(args, workspace);
  const auto zeros = static_cast<size_t>(reinterpret_cast<char*>(check.d_words + check.words) -
                                         reinterpret_cast<char*>(check.d_state));
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(check.d_state, 0, zeros, stream));
  const int64_t tiles = CeilDiv(check.count, int64_t{Tuning::kThreads} * Tuning::kItems);
  VisitKernel<false><<<static_cast<unsigned>(tiles), Tuning::kThreads, 0, stream>>>(check);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  if (check.d_list != nullptr) {
    SetListKernel<<<BlocksFor(check.words), Tuning::kThreads, 0, stream>>>(check);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  CountKernel<<<BlocksFor(check.words), Tuning::kThreads, 0, stream>>>(check);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  // The later kernels mostly have nothing to do, and so get few blocks.
  VisitKernel<true>
      <<<static_cast<unsigned>(std::min<int64_t>(tiles, Tuning::kBlocks)), Tuning::kThreads, 0, stream>>>(check);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  NameKernel<<<BlocksFor(check.count), Tuning::kThreads, 0, stream>>>(check, OperatorReport(), d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
