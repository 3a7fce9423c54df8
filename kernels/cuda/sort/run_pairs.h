// Merging neighbouring sorted runs: which runs an output position belongs to, where in them it starts, and the merge of
// a few outputs into registers. Pure arithmetic, for block-level and global passes alike.
//
// A run pair is [start, middle) and [middle, end) of one array; its outputs go to [start, end) of another. With
// segments, runs hold whole or cut segments in order, each sorted for itself: only the one segment that crosses
// `middle` is merged, in the active range [begin, end) of the pair; outside it, outputs are inputs in place.
//
// Source: S. Baxter, moderngpu (mergesort, segmented sort), 2013; Odeh, Green et al., "Merge Path", 2012.
#ifndef CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_
#define CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_

#include <cstdint>

#include "kernels/common/merge_path.h"
#include "kernels/common/types.h"
#include "kernels/cuda/common/unroll.h"

namespace corank::cuda {

template <typename T>
CORANK_HOST_DEVICE T Min(T x, T y) {
  return y < x ? y : x;
}
template <typename T>
CORANK_HOST_DEVICE T Max(T x, T y) {
  return x < y ? y : x;
}

/// Two neighbouring runs in an array; the second may be empty.
struct RunPair {
  int64_t start, middle, end;
};

/// The pair that position x of [0, count) belongs to, when runs are `width` long. x < count.
CORANK_HOST_DEVICE RunPair PairAt(int64_t x, int64_t width, int64_t count) {
  const int64_t start = x / width / 2 * 2 * width;
  const int64_t middle = count - start < width ? count : start + width;
  return {start, middle, count - middle < width ? count : middle + width};
}

/// A part of a pair's positions: begin <= middle <= end.
struct ActiveRange {
  int64_t begin, end;
};

/// The part of the pair that belongs to the segment across its middle; empty where a segment starts there.
/// offsets[0, segment_count] rise from 0 to the count of elements.
CORANK_HOST_DEVICE ActiveRange SegmentAcross(const RunPair& pair, const int64_t* offsets, int64_t segment_count) {
  if (pair.middle == pair.end) return {pair.middle, pair.middle};
  const auto before = [](int64_t x, int64_t y) { return x < y; };
  const int64_t next = UpperBound(offsets, segment_count + 1, pair.middle, before);
  const int64_t begin = offsets[next - 1];
  if (begin == pair.middle) return {pair.middle, pair.middle};
  return {Max(pair.start, begin), Min(pair.end, offsets[next])};
}

/// How many of the pair's outputs before position x come from its first run, as a position in keys: outputs from x on
/// take [result, middle) and [middle + x - result, end). `rank(key)` orders keys by <. start <= x <= end.
template <typename Keys, typename RankOf>
CORANK_HOST_DEVICE int64_t SplitAt(int64_t x, const RunPair& pair, const ActiveRange& active, const Keys& keys,
                                   RankOf rank) {
  if (x <= active.begin) return x;
  if (x >= active.end) return pair.middle;
  return active.begin + CoRank<int64_t>(x - active.begin, keys + active.begin, pair.middle - active.begin,
                                        keys + pair.middle, active.end - pair.middle,
                                        [&](const auto& y, const auto& z) { return rank(y) < rank(z); });
}

/// The inputs of a tile in shared memory: a_count keys from a_begin and b_count from b_begin on, both counted from one
/// base pointer. Outputs and sources are numbered from 0: source s < a_count is key a_begin + s, any other
/// b_begin + s - a_count. Outputs in [active_begin, active_end) are merged, others are their own source.
struct TilePair {
  int a_begin, a_count, b_begin, b_count, active_begin, active_end;

  CORANK_HOST_DEVICE int Place(int source) const {
    return source < a_count ? a_begin + source : b_begin + source - a_count;
  }
};

/// Merges outputs first to first + kItems - 1 of a tile: keys[i] is output first + i, sources[i] where it came from.
/// Outputs past the tile's last are not specified. Each key is read once: the two next ones are held in registers. The
/// key after the first input's last may be read, and is not used; nothing is read after the second input's.
template <bool kSegmented, typename Bits, int kItems, typename RankOf>
CORANK_HOST_DEVICE void MergeItems(const Bits* base, const TilePair& tile, int first, RankOf rank, Bits (&keys)[kItems],
                                   uint32_t (&sources)[kItems]) {
  const int total = tile.a_count + tile.b_count;
  const int begin = kSegmented ? tile.active_begin : 0;
  const int end = kSegmented ? tile.active_end : total;
  const int start = Min(Max(first, begin), end);
  const int a_end = tile.a_begin + tile.a_count;
  const int b_end = tile.b_begin + end - tile.a_count;
  int a = tile.a_begin + begin;
  a += CoRank<int>(start - begin, base + a, a_end - a, base + tile.b_begin, b_end - tile.b_begin,
                   [&](const Bits& x, const Bits& y) { return rank(x) < rank(y); });
  int b = tile.b_begin + start - (a - tile.a_begin);

  bool b_left = b < b_end;
  Bits a_key = base[a], b_key = b_left ? base[b] : Bits{0};
  Bits a_rank = rank(a_key), b_rank = rank(b_key);
  CORANK_UNROLL
  for (int i = 0; i < kItems; ++i) {
    if (kSegmented && (first + i < begin || first + i >= end)) {
      sources[i] = static_cast<uint32_t>(first + i);
      keys[i] = first + i < total ? base[tile.Place(first + i)] : Bits{0};
      continue;
    }
    const bool take_a = a < a_end && (!b_left || !(b_rank < a_rank));
    keys[i] = take_a ? a_key : b_key;
    sources[i] = static_cast<uint32_t>(take_a ? a - tile.a_begin : b - tile.b_begin + tile.a_count);
    a += take_a ? 1 : 0;
    b += take_a ? 0 : 1;
    b_left = b < b_end;
    const Bits key = take_a || b_left ? base[take_a ? a : b] : Bits{0};
    const Bits key_rank = rank(key);
    a_key = take_a ? key : a_key;
    a_rank = take_a ? key_rank : a_rank;
    b_key = take_a ? b_key : key;
    b_rank = take_a ? b_rank : key_rank;
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RUN_PAIRS_H_
