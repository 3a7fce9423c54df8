// Merges two sorted ranges of a tile in shared memory, a few outputs for each thread. Block sorts and multiway merges
// repeat this step.
//
// Elements of a tile have 4 or 8 bytes. One slot after each range holds kLastElement, which is no less than any
// element, so that the merge needs no bounds: see MergeDistinct. MergeStable, for equal elements that differ otherwise,
// checks the bounds.
//
// Source: S. Odeh, O. Green et al., "Merge Path", 2012.
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_MERGE_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_MERGE_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/types.h"
#include "kernels/cuda/common/multiway_levels.h"
#include "kernels/cuda/common/split_search.h"

namespace corank::cuda {

template <typename Element>
inline constexpr Element kLastElement = static_cast<Element>(~Element{0});

/// Shared memory by 32-bit address: offsets in unrolled loops become part of the instruction.
template <typename Element>
__device__ __forceinline__ Element LoadShared(uint32_t address) {
  Element value;
  if constexpr (sizeof(Element) == 8) {
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
  } else {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  }
  return value;
}
template <typename Element>
__device__ __forceinline__ void StoreShared(uint32_t address, Element value) {
  if constexpr (sizeof(Element) == 8) {
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(value) : "memory");
  } else {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
  }
}
__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// The rank of elements that are ranks.
struct SameRank {
  template <typename Element>
  __device__ __forceinline__ Element operator()(Element element) const {
    return element;
  }
};

/// The search for the split of a chunk. Near needs fewer probes if the ranges interleave at random. Not measured in the
/// streamed merge, which is bound by memory.
enum class SplitSearch { kWhole, kNear };

/// How many outputs of the chunk's pair before its first one come from the first range, in bytes. rank_at(address) is
/// the rank of an element of kSize bytes.
template <SplitSearch kSearch, int kSize, typename RankAt>
__device__ __forceinline__ uint32_t SplitBytes(uint32_t tile, const PairChunk& chunk, RankAt rank_at) {
  const int a_count = chunk.a_end - chunk.a_begin, b_count = chunk.b_end - chunk.b_begin;
  const uint32_t a = tile + chunk.a_begin * kSize;
  const uint32_t b = tile + (chunk.b_begin + chunk.first - 1) * kSize;
  const uint32_t low = static_cast<uint32_t>(max(0, chunk.first - b_count)) * kSize;
  const uint32_t high = static_cast<uint32_t>(min(chunk.first, a_count)) * kSize;
  const auto before = [&](uint32_t at) { return rank_at(b - at) < rank_at(a + at); };
  if constexpr (kSearch == SplitSearch::kWhole) return FindSplit<kSize>(low, high, before);
  const int all = a_count + b_count;
  const float share = __fdividef(static_cast<float>(chunk.first) * a_count, all);
  return FindSplitNear<kSize>(low, high, static_cast<int>(share), SplitReach(all), before);
}

/// One step of a merge. `head` follows the last output in its range; `other` is the head of the other range. The one
/// that comes first becomes `next`, and the other one `other`. `at` becomes `turned` if `next` is from the other range,
/// and `straight` if not.
///
/// 8 bytes are compared once: the compiler would compare them again for the minimum and the maximum, which are single
/// instructions only for 4 bytes.
template <typename Element>
__device__ __forceinline__ void Step(Element head, uint32_t turned, uint32_t straight, Element& next, Element& other,
                                     uint32_t& at) {
  if constexpr (sizeof(Element) == 8) {
    asm("{\n\t"
        ".reg .pred turns;\n\t"
        ".reg .u32 other_low, other_high, head_low, head_high;\n\t"
        "mov.b64 {other_low, other_high}, %1;\n\t"
        "mov.b64 {head_low, head_high}, %3;\n\t"
        "setp.lt.u32 turns, other_low, head_low;\n\t"
        "setp.eq.and.u32 turns, other_high, head_high, turns;\n\t"
        "setp.lt.or.u32 turns, other_high, head_high, turns;\n\t"
        "selp.u32 %2, %4, %5, turns;\n\t"
        "selp.u64 %0, %1, %3, turns;\n\t"
        "selp.u64 %1, %3, %1, turns;\n\t"
        "}"
        : "=&l"(next), "+l"(other), "=&r"(at)
        : "l"(head), "r"(turned), "r"(straight));
  } else {
    at = other < head ? turned : straight;
    next = min(other, head);
    other = max(other, head);
  }
}

/// As Step for 8 bytes. Among equal elements, that of the first range comes first. `in_b` is 1 if `head` is from the
/// second range and 0 if not, and then the same for `next`.
__device__ __forceinline__ void StableStep(uint64_t head, uint32_t turned, uint32_t straight, uint64_t& next,
                                           uint64_t& other, uint32_t& at, uint32_t& in_b) {
  asm("{\n\t"
      ".reg .pred turns;\n\t"
      ".reg .u32 other_low, other_high, head_low, head_high;\n\t"
      "mov.b64 {other_low, other_high}, %1;\n\t"
      "mov.b64 {head_low, head_high}, %4;\n\t"
      "setp.ne.u32 turns, %3, 0;\n\t"
      "setp.eq.and.u32 turns, other_low, head_low, turns;\n\t"
      "setp.lt.or.u32 turns, other_low, head_low, turns;\n\t"
      "setp.eq.and.u32 turns, other_high, head_high, turns;\n\t"
      "setp.lt.or.u32 turns, other_high, head_high, turns;\n\t"
      "selp.u32 %2, %5, %6, turns;\n\t"
      "selp.u64 %0, %1, %4, turns;\n\t"
      "selp.u64 %1, %4, %1, turns;\n\t"
      "@turns xor.b32 %3, %3, 1;\n\t"
      "}"
      : "=&l"(next), "+l"(other), "=&r"(at), "+r"(in_b)
      : "l"(head), "r"(turned), "r"(straight));
}

/// Merges a chunk of elements whose equal values are identical. The state is the next output and the head of the other
/// range. `at` is the address of the former, and turn - at that of the latter. Both addresses lag by half an element a
/// step, so that a step either adds a constant or takes the other address.
///
/// `rank` converts what lies in the tile into the elements to merge. `has_last`: whether an element of the tile may be
/// kLastElement.
template <int kItems, SplitSearch kSearch = SplitSearch::kNear, typename Element, typename RankOf = SameRank>
__device__ __forceinline__ void MergeDistinct(uint32_t tile, const PairChunk& chunk, Element (&elements)[kItems],
                                              bool has_last = true, RankOf rank = {}) {
  constexpr int kSize = sizeof(Element), kHalf = kSize / 2;
  const uint32_t split =
      SplitBytes<kSearch, kSize>(tile, chunk, [&](uint32_t at) { return rank(LoadShared<Element>(at)); });
  const uint32_t a = tile + chunk.a_begin * kSize + split;
  const uint32_t b = tile + (chunk.b_begin + chunk.first) * kSize - split;
  const Element a_head = rank(LoadShared<Element>(a)), b_head = rank(LoadShared<Element>(b));
  Element next = min(a_head, b_head), other = max(a_head, b_head);
  const uint32_t turn = a + b - kHalf;
  uint32_t at = b_head < a_head ? b : a;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    elements[i] = next;
    if (i + 1 == kItems) break;
    const Element head = rank(LoadShared<Element>(at + (kHalf * i + kSize)));
    Step(head, turn - at, at + kHalf, next, other, at);
  }
  // A kLastElement among the data equals those that close the ranges, so that the merge may have read past a range
  // after it. All remaining outputs are then kLastElement.
  if (has_last && other == kLastElement<Element>) {
#pragma unroll
    for (int i = 1; i < kItems; ++i) elements[i] = max(elements[i - 1], elements[i]);
  }
}

/// As MergeDistinct, for equal elements that are not identical: those of the first range come first, and the path of
/// the merge is recorded. a_place, b_place: the places of the ranges' first elements on the previous level.
template <int kItems, typename Element>
__device__ __forceinline__ PathWord MergePath(uint32_t tile, const PairChunk& chunk, int a_place, int b_place,
                                              bool has_last, Element (&elements)[kItems]) {
  static_assert(kItems <= 32);
  constexpr int kSize = sizeof(Element), kHalf = kSize / 2;
  const uint32_t split =
      SplitBytes<SplitSearch::kNear, kSize>(tile, chunk, [](uint32_t at) { return LoadShared<Element>(at); });
  const uint32_t a = tile + chunk.a_begin * kSize + split;
  const uint32_t b = tile + (chunk.b_begin + chunk.first) * kSize - split;
  const Element a_head = LoadShared<Element>(a), b_head = LoadShared<Element>(b);
  Element next = min(a_head, b_head), other = max(a_head, b_head);
  const uint32_t turn = a + b - kHalf;
  std::conditional_t<kSize == 8, uint32_t, bool> in_b = b_head < a_head;
  uint32_t at = in_b ? b : a;
  uint32_t from_b = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    elements[i] = next;
    from_b |= uint32_t{in_b} << i;
    if (i + 1 == kItems) break;
    const Element head = LoadShared<Element>(at + (kHalf * i + kSize));
    if constexpr (kSize == 8) {
      StableStep(head, turn - at, at + kHalf, next, other, at, in_b);
    } else {
      const bool turns = other < head || (in_b && other == head);
      at = turns ? turn - at : at + kHalf;
      in_b = in_b != turns;
      next = min(other, head);
      other = max(other, head);
    }
  }
  const int a_before = static_cast<int>(split / kSize);
  if (has_last && other == kLastElement<Element>) {
    int less = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i > 0) elements[i] = max(elements[i - 1], elements[i]);
      less += elements[i] < kLastElement<Element> ? 1 : 0;
    }
    // The rest of the first range, then of the second one.
    const uint32_t known = less < 32 ? (uint32_t{1} << less) - 1 : ~0u;
    const int a_taken = a_before + less - __popc(from_b & known);
    const int turn_to_b = less + (chunk.a_end - chunk.a_begin) - a_taken;
    from_b = (from_b & known) | (turn_to_b < 32 ? ~0u << max(turn_to_b, 0) : 0);
  }
  return {from_b, static_cast<uint32_t>(a_place + a_before) | static_cast<uint32_t>(b_place + chunk.first - a_before)
                                                                  << 16};
}

/// Merges a chunk by rank. Among equal ranks, those of the first range come first.
template <int kItems, SplitSearch kSearch = SplitSearch::kNear, typename Element, typename RankOf>
__device__ __forceinline__ void MergeStable(uint32_t tile, const PairChunk& chunk, RankOf rank,
                                            Element (&elements)[kItems]) {
  constexpr int kSize = sizeof(Element);
  const uint32_t split =
      SplitBytes<kSearch, kSize>(tile, chunk, [&](uint32_t at) { return rank(LoadShared<Element>(at)); });
  uint32_t a = tile + chunk.a_begin * kSize + split;
  uint32_t b = tile + (chunk.b_begin + chunk.first) * kSize - split;
  const uint32_t a_end = tile + chunk.a_end * kSize, b_end = tile + chunk.b_end * kSize;
  Element a_head = LoadShared<Element>(a), b_head = LoadShared<Element>(b);
  auto a_rank = rank(a_head), b_rank = rank(b_head);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool take_a = a < a_end && (b >= b_end || !(b_rank < a_rank));
    elements[i] = take_a ? a_head : b_head;
    if (i + 1 == kItems) break;
    a += take_a ? kSize : 0;
    b += take_a ? 0 : kSize;
    const Element head = LoadShared<Element>(take_a ? a : b);
    const auto head_rank = rank(head);
    a_head = take_a ? head : a_head;
    a_rank = take_a ? head_rank : a_rank;
    b_head = take_a ? b_head : head;
    b_rank = take_a ? b_rank : head_rank;
  }
}

/// Words of a 4-byte rank above a 4-byte payload.
struct WordRank {
  __device__ __forceinline__ uint32_t operator()(uint64_t word) const { return static_cast<uint32_t>(word >> 32); }
};

/// As MergeDistinct, for such words by rank. Among equal ranks, those of the first range come first. `has_last`:
/// whether the tile has the rank of kLastElement.
template <int kItems>
__device__ __forceinline__ void MergeWords(uint32_t tile, const PairChunk& chunk, bool has_last,
                                           uint64_t (&words)[kItems]) {
  constexpr int kSize = sizeof(uint64_t), kHalf = kSize / 2;
  constexpr WordRank kRank;
  if (has_last) {  // the closing words would be taken for data
    MergeStable<kItems>(tile, chunk, kRank, words);
    return;
  }
  const uint32_t split =
      SplitBytes<SplitSearch::kNear, kSize>(tile, chunk, [](uint32_t at) { return LoadShared<uint32_t>(at + kHalf); });
  const uint32_t a = tile + chunk.a_begin * kSize + split;
  const uint32_t b = tile + (chunk.b_begin + chunk.first) * kSize - split;
  const auto a_head = LoadShared<uint64_t>(a), b_head = LoadShared<uint64_t>(b);
  bool in_b = kRank(b_head) < kRank(a_head);
  uint64_t next = in_b ? b_head : a_head, other = in_b ? a_head : b_head;
  const uint32_t turn = a + b - kHalf;
  uint32_t at = in_b ? b : a;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    words[i] = next;
    if (i + 1 == kItems) break;
    const auto head = LoadShared<uint64_t>(at + (kHalf * i + kSize));
    const uint32_t other_rank = kRank(other), head_rank = kRank(head);
    const bool turns = other_rank < head_rank || (in_b && other_rank == head_rank);
    at = turns ? turn - at : at + kHalf;
    in_b = in_b != turns;
    next = turns ? other : head;
    other = turns ? head : other;
  }
}

/// Writes the outputs of a chunk to their place in the tile.
template <int kItems, typename Element>
__device__ __forceinline__ void WriteChunk(uint32_t tile, const PairChunk& chunk, const Element (&elements)[kItems]) {
  const uint32_t out = tile + chunk.out * static_cast<int>(sizeof(Element));
  if (__all_sync(~0u, chunk.count == kItems)) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) StoreShared(out + i * static_cast<int>(sizeof(Element)), elements[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < chunk.count) StoreShared(out + i * static_cast<int>(sizeof(Element)), elements[i]);
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_MERGE_CUH_
