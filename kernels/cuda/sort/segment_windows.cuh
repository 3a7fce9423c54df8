// The first pass of the segmented sort: sorts every segment that is not longer than a window, and every piece of a
// longer one.
//
// Algorithm: a block takes the segments that start in its window of positions. They are adjacent, and have two windows
//            of keys at most. A long segment has a piece in each of its windows; a block may have one piece before its
//            first segment, and another one that begins last. The block reads the heads as bits, lists all chunks with
//            a scan, loads the keys once, and sorts groups of whole segments with as many chunks as it has threads.
// Work: O(n log window).
// Memory: one read, one write of keys and payload; two bits for each key.
// Workspace: the plan.
// Stability: see segment_tile.cuh.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_WINDOWS_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_WINDOWS_CUH_

#include <cstdint>

#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/sort/segment_pass.h"
#include "kernels/cuda/sort/segment_tile.cuh"
#include "kernels/cuda/sort/segment_tuning.h"

namespace corank::cuda {

template <typename Bits, bool kPayload>
struct SegmentWindow {
  static constexpr SegmentTuning kTuning = SegmentTuningFor(sizeof(Bits), kPayload);
  static constexpr int kItems = kTuning.items, kThreads = kTuning.threads, kWarps = kThreads / 32;
  static constexpr int kWindow = kTuning.Window(), kCapacity = 2 * kWindow;
  static constexpr int kWords = kCapacity / 32, kStartWords = kWindow / 32;
  static constexpr int kNone = 2 * kCapacity;  // a head so far away that the segment before it is long
  // Segments of two keys, then one that leaves the window. Segments of one key have no chunk.
  static constexpr int kMaxChunks = kWindow / 2 + kWindow / kItems + 2;
  static_assert(kWords <= kThreads && kWindow % 32 == 0, "a thread has one word of heads");
  static_assert(kWindow <= 1 << ChunkCode::kBeginBits && kWindow <= 1 << ChunkCode::kLengthBits, "chunks have codes");
  using TileSort = SegmentTileSort<Bits, kPayload, kCapacity, kItems>;

  struct Shared {
    typename TileSort::Memory tile;
    uint32_t chunks[kMaxChunks];
    int warp_first[kWarps], warp_end[kWarps], warp_chunks[kWarps];
  };

  static __device__ __forceinline__ int ChunksOf(int length) { return length < 2 ? 0 : (length + kItems - 1) / kItems; }

  /// Calls use(begin, length) for each segment with its head in `heads`, from position `start` on and before `limit`.
  /// The next head is at `after`. For a long segment, length is that of its piece.
  template <typename Use>
  static __device__ __forceinline__ void ForEachSegment(uint32_t heads, int start, int limit, int after, Use use) {
    while (heads != 0) {
      const int begin = start + __ffs(static_cast<int>(heads)) - 1;
      if (begin >= limit) return;
      heads &= heads - 1;
      const int length = (heads != 0 ? start + __ffs(static_cast<int>(heads)) - 1 : after) - begin;
      use(begin, length > kWindow ? kWindow - begin : length);
    }
  }

  /// Stores the sorted keys and payload in [begin, end) of the window. `left` passes follow this one.
  static __device__ __forceinline__ void Store(const SegmentPass<Bits>& pass, const Shared& shared, int64_t window,
                                               int begin, int end, int left) {
    if (left != 0 || pass.keys_wanted) {
      Bits* const out = pass.KeysAt(left) + window;
      MoveRange<kThreads, 8>(
          begin, end, [&](int i) { return shared.tile.keys[Padded<Bits>(i)]; },
          [&](int i, Bits code) { out[i] = left == 0 ? pass.order.Decode(code) : code; });
    }
    if constexpr (kPayload) {
      MovePayloadRange<kThreads, 8>(pass.payload_bytes, pass.payload_in, pass.PayloadAt(left), window, begin, end,
                                    [&](int i) { return window + shared.tile.positions[Padded<Bits>(i)]; });
    }
  }

  /// What a thread knows of the window. Positions count from the start of the window.
  struct View {
    uint32_t heads;     // of segments that begin in the thread's word
    int start;          // of the thread's word
    int limit;          // the end of the keys
    int after;          // the first head after the thread's word
    int across_end;     // of the segment that begins before the window; 0: none
    int across_chunks;  // its chunks
    int begin, end;     // of all segments of the window
    int slot;           // the thread's first chunk
    int chunks;         // of the window
  };

  /// Finds `begin` and `after`. `heads`: of the thread's word, also past the window. Contains a barrier.
  static __device__ __forceinline__ void FindHeads(uint32_t heads, Shared& shared, View& view) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int first = heads != 0 ? view.start + __ffs(static_cast<int>(heads)) - 1 : kNone;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_down_sync(kAllLanes, first, step);
      if (lane + step < 32) first = Min(first, other);
    }
    if (lane == 0) shared.warp_first[warp] = first;
    __syncthreads();
    view.after = __shfl_down_sync(kAllLanes, first, 1);
    if (lane == 31) view.after = kNone;
    view.begin = kNone;
#pragma unroll
    for (int w = kWarps - 1; w >= 0; --w) {
      if (w > warp) view.after = Min(view.after, shared.warp_first[w]);
      view.begin = Min(view.begin, shared.warp_first[w]);
    }
    if (view.across_end != 0) view.begin = 0;
  }

  /// Finds `slot`, `chunks` and `end`. Contains a barrier.
  static __device__ __forceinline__ void CountChunks(Shared& shared, View& view) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int chunks = 0, end = view.across_end;
    ForEachSegment(view.heads, view.start, view.limit, view.after, [&](int segment, int length) {
      chunks += ChunksOf(length);
      end = segment + length;
    });
    const int own_chunks = chunks;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, chunks, step);
      if (lane >= step) chunks += other;
    }
    const int warp_end = __reduce_max_sync(kAllLanes, end);
    if (lane == 31) {
      shared.warp_chunks[warp] = chunks;
      shared.warp_end[warp] = warp_end;
    }
    __syncthreads();
    view.across_chunks = ChunksOf(view.across_end);
    view.slot = view.across_chunks + chunks - own_chunks;
    view.chunks = view.across_chunks;
    view.end = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      view.slot += w < warp ? shared.warp_chunks[w] : 0;
      view.chunks += shared.warp_chunks[w];
      view.end = Max(view.end, shared.warp_end[w]);
    }
  }

  /// Lists the chunks of all segments in order. Visible after a barrier.
  static __device__ __forceinline__ void ListChunks(const View& view, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    for (int c = thread; c < view.across_chunks; c += kThreads) shared.chunks[c] = ChunkCode::Of(0, view.across_end, c);
    constexpr int kLoneChunks = 4;  // a warp lists the chunks of a longer segment together
    unsigned many = 0;
    int slot = view.slot;
    ForEachSegment(view.heads, view.start, view.limit, view.after, [&](int segment, int length) {
      const int count = ChunksOf(length);
      if (count <= kLoneChunks) {
        for (int c = 0; c < count; ++c) shared.chunks[slot + c] = ChunkCode::Of(segment, length, c);
      } else {
        many = static_cast<unsigned>(slot) | 1u << 31;  // only the last segment of a thread can be so long
      }
      slot += count;
    });
    for (unsigned left = __ballot_sync(kAllLanes, many != 0); left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      const int segment = __shfl_sync(kAllLanes, view.start + 31 - __clz(static_cast<int>(view.heads | 1)), from);
      const int whole = __shfl_sync(kAllLanes, view.after, from) - segment;
      const int length = whole > kWindow ? kWindow - segment : whole;
      const int base = static_cast<int>(__shfl_sync(kAllLanes, many, from) & ~(1u << 31));
      for (int c = lane; c < ChunksOf(length); c += 32) shared.chunks[base + c] = ChunkCode::Of(segment, length, c);
    }
  }

  /// Sorts all segments in shared memory, as many at a time as threads can take.
  static __device__ __forceinline__ void SortChunks(int chunks, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int group = 0; group < chunks;) {
      // Take whole segments: the last one that begins in this group may be left for the next group.
      int group_end = Min(chunks, group + kThreads);
      if (group_end < chunks) {
        const uint32_t last = shared.chunks[group_end - 1];
        const int number = ChunkCode::Chunk(last);
        if (number + 1 < ChunksOf(ChunkCode::Length(last))) group_end -= number + 1;
      }
      const bool has_chunk = group + thread < group_end;
      const uint32_t code = has_chunk ? shared.chunks[group + thread] : 0;
      TileSort::Run(shared.tile, ChunkCode::Begin(code), has_chunk ? ChunkCode::Length(code) : 0,
                    ChunkCode::Chunk(code));
      group = group_end;
    }
  }

  static __device__ __forceinline__ void Run(const SegmentPass<Bits>& pass, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t window = int64_t{blockIdx.x} * kWindow;
    const int64_t word = window / 32 + thread;
    const uint32_t heads = thread < kWords && word <= pass.count / 32 ? pass.plan.heads[word] : 0;
    const LongSegment across = pass.plan.long_across[blockIdx.x], last = pass.plan.long_across[blockIdx.x + 1];
    View view;
    view.heads = thread < kStartWords ? heads : 0;
    view.start = thread * 32;
    view.limit = static_cast<int>(Min<int64_t>(kWindow, pass.count - window));  // the head at the count is none
    view.across_end = static_cast<int>(Max<int64_t>(0, Min<int64_t>(kWindow, across.end - window)));
    if (view.across_end == view.limit && across.IsGiant()) return;
    FindHeads(heads, shared, view);
    if (view.begin >= view.limit) return;
    CountChunks(shared, view);

    const Bits* const in = pass.keys_in + window;
    MoveRange<kThreads, 8>(
        view.begin, view.end, [&](int i) { return in[i]; },
        [&](int i, Bits raw) {
          shared.tile.keys[Padded<Bits>(i)] = pass.order.Encode(raw);
          if constexpr (kPayload) shared.tile.positions[Padded<Bits>(i)] = static_cast<uint16_t>(i);
        });
    ListChunks(view, shared);
    __syncthreads();
    SortChunks(view.chunks, shared);
    __syncthreads();

    const auto passes = [](const LongSegment& segment) {
      return MergeSchedule(LongPieces{segment, kWindow}.Count()).passes;
    };
    const int across_end = view.across_end, end = view.end;
    const int last_begin = last.end != 0 && last.begin >= window ? static_cast<int>(last.begin - window) : end;
    if (across_end != 0) Store(pass, shared, window, 0, across_end, passes(across));
    Store(pass, shared, window, across_end == 0 ? view.begin : across_end, last_begin, 0);
    if (last_begin != end) Store(pass, shared, window, last_begin, end, passes(last));
  }
};

template <typename Bits, bool kPayload>
__global__ void __launch_bounds__(SegmentWindow<Bits, kPayload>::kThreads,
                                  SegmentWindow<Bits, kPayload>::kTuning.blocks)
    SegmentWindowKernel(const SegmentPass<Bits> pass) {
  extern __shared__ __align__(16) unsigned char memory[];
  using Window = SegmentWindow<Bits, kPayload>;
  Window::Run(pass, *reinterpret_cast<typename Window::Shared*>(memory));
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_WINDOWS_CUH_
