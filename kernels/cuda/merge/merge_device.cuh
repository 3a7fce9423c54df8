// Device functions that the merge kernels share.
//
// Every kernel merges along splits: first of the output into sections (found by PartitionMerge), then of a section into
// pieces for threads (SplitTile). Splits of sorted arrays ascend; those of unsorted arrays may not. A level that
// detects this uses min(diagonal, a_count) for all its splits: a path that copies a and then b. So the output is a
// permutation of the input, and all accesses stay within it, for any keys.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_DEVICE_CUH_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/common/merge_path.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/merge/merge_group.h"

namespace corank::cuda {

/// The value type of a merge without values.
struct NoValue {};

/// Calls fn(order, value) with the KeyOrder, and a NoValue, uint32_t or uint64_t.
template <typename Fn>
cudaError_t WithMergeTypes(const MergeKind& kind, Fn&& fn) {
  return WithKeyOrder(kind.key_type, kind.order, [&](auto order) {
    if (kind.value_bytes == 0) return fn(order, NoValue{});
    return kind.value_bytes == 4 ? fn(order, uint32_t{}) : fn(order, uint64_t{});
  });
}

template <typename Bits, bool kFloat>
struct KeyBefore {
  KeyOrder<Bits, kFloat> order;
  CORANK_HOST_DEVICE bool operator()(Bits a, Bits b) const { return order.Before(a, b); }
};

/// The order of keys by raw ^ mask. Valid for all integers, and for float numbers of one sign, the sign of mask.
template <typename Bits>
struct MaskedRank {
  Bits mask;
  __device__ __forceinline__ Bits operator()(Bits raw) const { return raw ^ mask; }
};

/// Whether MaskedRank orders keys[0, count) of a sorted array, judged by the first and the last key. If one of these is
/// a zero, the array may still contain zeros of the other sign.
template <typename Bits, bool kFloat>
__device__ __forceinline__ bool HaveMask(const KeyOrder<Bits, kFloat>& order, Bits mask, const Bits* keys,
                                         int64_t count) {
  if (!kFloat || count == 0) return true;
  const auto has_mask = [&](Bits key) { return order.SignMask(key) == mask && order.IsNumber(key); };
  return has_mask(keys[0]) && has_mask(keys[count - 1]);
}

/// As CoRank, by kLanes adjacent lanes, which all call it: the least i in [low, high) with `is_past`, or high. For
/// sorted inputs, is_past is false up to some i and true from there on. For others, the result is some i in [low,
/// high].
template <int kLanes, typename Index, typename IsPast>
__device__ __forceinline__ Index CoRankByLanes(Index low, Index high, IsPast is_past) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int first_lane = static_cast<int>(threadIdx.x) % 32 - lane;
  constexpr unsigned kAll = kLanes == 32 ? ~0u : (1u << kLanes) - 1;
  while (low < high) {
    const Index stride = (high - low + kLanes) / (kLanes + 1);
    const Index probe = low + (lane + 1) * stride - 1;
    const unsigned past = __ballot_sync(kAll << first_lane, probe >= high || is_past(probe)) >> first_lane & kAll;
    const int before = past == 0 ? kLanes : __ffs(static_cast<int>(past)) - 1;
    low += before * stride;
    high = min(high, low + stride - 1 + (before == kLanes ? 1 : 0));
  }
  return low;
}

/// The pair that contains a section of the group.
__device__ __forceinline__ int FindPair(const MergeGroup& group, int64_t section) {
  int low = 0, high = group.size - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (group.pairs[middle].first_section <= section) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// One section of a pair with its types restored: merges a[0, a_count) and b[0, b_count) to out.
template <typename Bits, typename Value>
struct MergeSection {
  const Bits* a_keys;
  const Bits* b_keys;
  Bits* keys_out;
  const Value* a_values;
  const Value* b_values;
  Value* values_out;
  int64_t a_first, b_first;  // the first numbers, which stand for values if a_values or b_values is null
  int64_t a_begin, b_begin;  // the beginning of the section within a and b
  int a_count, b_count;

  __device__ int count() const { return a_count + b_count; }
  __device__ Value AValue(int i) const { return a_values != nullptr ? a_values[i] : static_cast<Value>(a_first + i); }
  __device__ Value BValue(int i) const { return b_values != nullptr ? b_values[i] : static_cast<Value>(b_first + i); }
  /// Writes output `to`, which is element i of a or b.
  __device__ void Emit(int to, bool from_a, int i, Bits key) const {
    keys_out[to] = key;
    if constexpr (!std::is_same_v<Value, NoValue>) values_out[to] = from_a ? AValue(i) : BValue(i);
  }
};

template <typename Bits, typename Value>
__device__ __forceinline__ MergeSection<Bits, Value> LoadSection(const MergeGroup& group, const MergePair& pair,
                                                                 int64_t section, int64_t section_size,
                                                                 const MergeSplits& splits) {
  const int64_t begin = (section - pair.first_section) * section_size;
  const int64_t end = min(begin + section_size, pair.count());
  const bool broken = splits.d_broken[&pair - group.pairs] != 0;
  const int64_t a_begin = broken ? min(begin, pair.a_count) : splits.d_splits[section];
  const int64_t a_end = broken                ? min(end, pair.a_count)
                        : end == pair.count() ? pair.a_count
                                              : splits.d_splits[section + 1];
  const int64_t b_begin = begin - a_begin;
  MergeSection<Bits, Value> s;
  s.a_keys = static_cast<const Bits*>(pair.a_keys) + a_begin;
  s.b_keys = static_cast<const Bits*>(pair.b_keys) + b_begin;
  s.keys_out = static_cast<Bits*>(pair.keys_out) + begin;
  if constexpr (!std::is_same_v<Value, NoValue>) {
    s.a_values = pair.a_values == nullptr ? nullptr : static_cast<const Value*>(pair.a_values) + a_begin;
    s.b_values = pair.b_values == nullptr ? nullptr : static_cast<const Value*>(pair.b_values) + b_begin;
    s.values_out = static_cast<Value*>(pair.values_out) + begin;
  }
  s.a_first = pair.a_first + a_begin;
  s.b_first = pair.b_first + b_begin;
  s.a_begin = a_begin;
  s.b_begin = b_begin;
  s.a_count = static_cast<int>(a_end - a_begin);
  s.b_count = static_cast<int>(end - begin) - s.a_count;
  return s;
}

/// A thread's piece of a tile: outputs [diagonal, diagonal + steps) from a[a_begin, a_end) and b[b_begin, b_end).
struct ThreadPiece {
  int diagonal, steps;
  int a_begin, a_end, b_begin, b_end;
  int tile_a_count;  // elements of a in the whole tile
};

/// Splits the first `outputs` <= kThreads * kItems outputs of merging a and b among the block's threads, which all call
/// it. s_splits[kThreads + 1] may be reused after the next __syncthreads.
template <int kThreads, int kItems, typename A, typename B, typename Before>
__device__ __forceinline__ ThreadPiece SplitTile(const A& a, int a_count, const B& b, int b_count, int outputs,
                                                 Before before, int* s_splits) {
  const int thread = static_cast<int>(threadIdx.x);
  const int begin = min(thread * kItems, outputs);
  const int end = min(begin + kItems, outputs);
  int split = CoRank(begin, a, a_count, b, b_count, before);
  s_splits[thread] = split;
  if (thread == kThreads - 1) s_splits[kThreads] = CoRank(outputs, a, a_count, b, b_count, before);
  __syncthreads();
  int next = s_splits[thread + 1];
  int total = s_splits[kThreads];
  if (__syncthreads_or(next < split || next - split > end - begin)) {
    split = min(begin, a_count);
    next = min(end, a_count);
    total = min(outputs, a_count);
  }
  return {begin, end - begin, split, next, begin - split, end - next, total};
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_DEVICE_CUH_
