// Merges by tiles of the merge path: AUTO's choice for two inputs that BulkMerge does not support, which are keys with
// values and keys of 1 and 2 bytes.
//
// Algorithm: a block loads the keys of one tile (found by PartitionMerge) from both inputs with 16-byte copies. Each
//            thread co-ranks its piece in shared memory and merges it in registers. The tile leaves through shared
//            memory with 16-byte stores. Values follow in a second step: their positions in the tile go through shared
//            memory; each output's value is read from its place in global memory (neighbours in an input stay close to
//            each other) and written coalesced.
// Work: O(n + n / kItems * log(tile)).
// Memory: one read and one write of keys and values, including the check that the inputs are sorted.
// Workspace: 8 bytes for each tile (the splits).
// Stability: equal keys of a come first.
// Source: S. Odeh, O. Green et al., "Merge Path", 2012; S. Baxter, moderngpu, "Merge", 2013.
#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

/// Reports the keys of one input's part of the tile that come before their predecessors.
template <int kThreads, typename Bits, bool kFloat>
__device__ __forceinline__ void CheckTile(const Bits* s_keys, int count, int64_t begin,
                                          const KeyOrder<Bits, kFloat>& order, int32_t input, FaultCell* d_unsorted) {
  if (input < 0) return;
  for (int i = 1 + static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    if (order.Before(s_keys[i], s_keys[i - 1])) atomicMax(d_unsorted, PackFault(input, begin + i));
  }
}

/// Whether one of this thread's keys comes after the next key.
template <int kThreads, typename Bits>
__device__ __forceinline__ bool IsUnsorted(const Bits* s_keys, int count, MaskedRank<Bits> rank) {
  bool unsorted = false;
  for (int i = 1 + static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    unsorted |= rank(s_keys[i]) < rank(s_keys[i - 1]);
  }
  return unsorted;
}

/// Whether the key after keys[0, count), if loaded, comes before the last of them.
template <typename Bits, bool kFloat>
__device__ __forceinline__ bool EndsUnsorted(const Bits* s_keys, int count, int loaded,
                                             const KeyOrder<Bits, kFloat>& order) {
  return count > 0 && count < loaded && order.Before(s_keys[count], s_keys[count - 1]);
}

/// Prefetches values into the L2 cache. They are needed once the keys are merged. Null: there are none.
template <int kThreads, typename Value>
__device__ __forceinline__ void PrefetchValues(const Value* values, int count) {
  if (values == nullptr) return;
  constexpr int kLine = 128 / static_cast<int>(sizeof(Value));
  for (int i = static_cast<int>(threadIdx.x) * kLine; i < count; i += kThreads * kLine) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(values + i));
  }
}

/// Fetches and stores the values of a tile. positions[to] is the place of output `to` among the tile's elements of a
/// and then b. All loads precede all stores, so that the loads overlap.
template <int kThreads, int kItems, typename Bits, typename Value>
__device__ __forceinline__ void MoveValues(const MergeSection<Bits, Value>& section, const uint16_t* s_positions) {
  const int thread = static_cast<int>(threadIdx.x);
  Value values[kItems];
  if (section.a_values != nullptr && section.b_values != nullptr) {
    const Value* const b_values = section.b_values - section.a_count;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const int to = item * kThreads + thread;
      if (to < section.count()) {
        const int from = s_positions[to];
        values[item] = (from < section.a_count ? section.a_values : b_values)[from];
      }
    }
  } else {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const int to = item * kThreads + thread;
      if (to < section.count()) {
        const int from = s_positions[to];
        values[item] = from < section.a_count ? section.AValue(from) : section.BValue(from - section.a_count);
      }
    }
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int to = item * kThreads + thread;
    if (to < section.count()) section.values_out[to] = values[item];
  }
}

/// Merges the tile from shared to global memory. For the few tiles that need ranks, so that these do not cost the
/// others registers.
template <int kThreads, int kItems, typename Bits, typename Value, bool kFloat>
__device__ __forceinline__ void MergeByRank(const MergeSection<Bits, Value>& section, const Bits* s_a, const Bits* s_b,
                                            const KeyOrder<Bits, kFloat>& order, int* s_splits) {
  const KeyBefore<Bits, kFloat> before{order};
  const ThreadPiece piece =
      SplitTile<kThreads, kItems>(s_a, section.a_count, s_b, section.b_count, section.count(), before, s_splits);
  SerialMerge(
      s_a, piece.a_begin, piece.a_end, s_b, piece.b_begin, piece.b_end, piece.steps, before,
      [&](int step, bool from_a, int i) { section.Emit(piece.diagonal + step, from_a, i, from_a ? s_a[i] : s_b[i]); });
}

/// Merges a thread's piece into registers, with the positions of the keys if kPositions. The inputs lie in `tile` from
/// a_place and b_place on. Returns whether a key comes after the next one of its input, which may be one past the
/// input.
template <bool kPositions, typename Bits, int kItems, int kPositionItems>
__device__ __forceinline__ bool MergePiece(const Bits* tile, int a_place, int b_place, int a_count,
                                           const ThreadPiece& piece, const MaskedRank<Bits>& rank, Bits (&keys)[kItems],
                                           uint16_t (&positions)[kPositionItems]) {
  int a = a_place + piece.a_begin, b = b_place + piece.b_begin;
  const int a_end = a_place + piece.a_end, b_end = b_place + piece.b_end;
  Bits a_key = tile[a], b_key = tile[b];
  Bits a_rank = rank(a_key), b_rank = rank(b_key);
  bool seems_unsorted = false;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (item < piece.steps) {
      const bool take_a = b >= b_end || (a < a_end && !(b_rank < a_rank));
      keys[item] = take_a ? a_key : b_key;
      if constexpr (kPositions) positions[item] = static_cast<uint16_t>(take_a ? a - a_place : b - b_place + a_count);
      const Bits next = tile[take_a ? ++a : ++b];
      const Bits next_rank = rank(next);
      seems_unsorted |= next_rank < (take_a ? a_rank : b_rank);
      a_key = take_a ? next : a_key;
      a_rank = take_a ? next_rank : a_rank;
      b_key = take_a ? b_key : next;
      b_rank = take_a ? b_rank : next_rank;
    }
  }
  return seems_unsorted;
}

template <typename Value, typename Bits, bool kFloat>
__global__ void __launch_bounds__(PathMergeTuning<sizeof(Bits)>::kThreads, PathMergeTuning<sizeof(Bits)>::kBlocks)
    PathMergeKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, kFloat> order, MergeSplits splits,
                    FaultCell* d_unsorted) {
  using Tuning = PathMergeTuning<sizeof(Bits)>;
  constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems, kTile = Tuning::kTile;
  constexpr bool kHasValues = !std::is_same_v<Value, NoValue>;
  union Shared {
    uint4 aligned;
    Bits keys[Tuning::kStagingBytes / sizeof(Bits)];
    uint16_t positions[kHasValues ? kTile : 1];
  };
  __shared__ Shared shared;
  __shared__ int s_splits[kThreads + 1];

  const int64_t tile = blockIdx.x;
  const MergePair& pair = group.pairs[FindPair(group, tile)];
  const auto section = LoadSection<Bits, Value>(group, pair, tile, kTile, splits);

  // Loads the keys of both inputs, each at its own phase, with the first key of the next tile.
  const int a_loaded = section.a_count + (section.a_begin + section.a_count < pair.a_count ? 1 : 0);
  const int b_loaded = section.b_count + (section.b_begin + section.b_count < pair.b_count ? 1 : 0);
  const int a_place = PlaceAfter(0, section.a_keys);
  const int b_place = PlaceAfter(a_place + a_loaded, section.b_keys);
  const Bits* const s_a = shared.keys + a_place;
  const Bits* const s_b = shared.keys + b_place;
  StartLoad<kThreads>(section.a_keys, shared.keys + a_place, a_loaded);
  StartLoad<kThreads>(section.b_keys, shared.keys + b_place, b_loaded);
  if constexpr (kHasValues) {
    PrefetchValues<kThreads>(section.a_values, section.a_count);
    PrefetchValues<kThreads>(section.b_values, section.b_count);
  }
  FinishLoads();
  __syncthreads();

  // Merges each thread's piece into registers. Positions count from shared.keys. The last look at the next key may be
  // one past the input: within the staging area, and never taken. Together the threads compare every key with its
  // successor, except with the first key of the next tile, which may have another sign. A key past the end of an input
  // may look like a fault too, so a fault seen here is only a hint.
  const bool checks = d_unsorted != nullptr;
  const auto check_tile = [&] {
    if (!checks) return;
    CheckTile<kThreads>(s_a, a_loaded, section.a_begin, order, pair.a_input, d_unsorted);
    CheckTile<kThreads>(s_b, b_loaded, section.b_begin, order, pair.b_input, d_unsorted);
  };
  const Bits mask = order.SignMask(section.a_count > 0 ? s_a[0] : s_b[0]);
  if (!HaveMask(order, mask, s_a, section.a_count) || !HaveMask(order, mask, s_b, section.b_count)) {
    check_tile();
    MergeByRank<kThreads, kItems>(section, s_a, s_b, order, s_splits);
    return;
  }
  const MaskedRank<Bits> rank{mask};
  const ThreadPiece piece = SplitTile<kThreads, kItems>(
      s_a, section.a_count, s_b, section.b_count, section.count(),
      [&](Bits left, Bits right) { return rank(left) < rank(right); }, s_splits);
  Bits keys[kItems];
  uint16_t positions[kHasValues ? kItems : 1];
  bool seems_unsorted =
      kFloat && threadIdx.x == 0 &&
      (EndsUnsorted(s_a, section.a_count, a_loaded, order) || EndsUnsorted(s_b, section.b_count, b_loaded, order));
  seems_unsorted |=
      MergePiece<kHasValues>(shared.keys, a_place, b_place, section.a_count, piece, rank, keys, positions);
  if (__syncthreads_or(seems_unsorted && (checks || kFloat))) {
    check_tile();
    // Zeros of both signs may be sorted, although not in the order of the mask.
    if (__syncthreads_or(kFloat && (IsUnsorted<kThreads>(s_a, section.a_count, rank) ||
                                    IsUnsorted<kThreads>(s_b, section.b_count, rank)))) {
      MergeByRank<kThreads, kItems>(section, s_a, s_b, order, s_splits);
      return;
    }
  }

  // Stores the keys.
  const int out_place = PhaseOf(section.keys_out);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (item < piece.steps) shared.keys[out_place + piece.diagonal + item] = keys[item];
  }
  __syncthreads();
  StoreTile<kThreads>(shared.keys + out_place, section.keys_out, section.count());

  // Fetches and stores the values.
  if constexpr (kHasValues) {
    __syncthreads();
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (item < piece.steps) shared.positions[piece.diagonal + item] = positions[item];
    }
    __syncthreads();
    MoveValues<kThreads, kItems>(section, shared.positions);
  }
}

}  // namespace

cudaError_t PathMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                      unsigned long long* d_unsorted, cudaStream_t stream) {
  return WithMergeTypes(kind, [&](auto order, auto value) {
    constexpr int kKeyBytes = sizeof(order.Encode(0));
    constexpr bool kIsBulk = std::is_same_v<decltype(value), NoValue> && kKeyBytes >= 4;
    if constexpr (kIsBulk) {
      return cudaErrorInvalidValue;
    } else {
      using Tuning = PathMergeTuning<kKeyBytes>;
      PathMergeKernel<decltype(value)>
          <<<static_cast<unsigned>(group.sections), Tuning::kThreads, 0, stream>>>(group, order, splits, d_unsorted);
      return cudaGetLastError();
    }
  });
}

}  // namespace corank::cuda
