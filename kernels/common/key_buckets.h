// An index over sorted keys, which replaces most steps of a binary search: pure arithmetic that both engines share.
//
// The range of the keys' ranks is cut into buckets of equal width, a power of two. A table holds the first position of
// each bucket. A search reads two neighbours of the table and looks between them only. Keys that are spread evenly
// leave two or three steps. Keys that crowd in a few buckets leave at most those of a plain binary search.
//
// Source: A. Kipf, R. Marcus, A. van Renen et al., "RadixSpline: A Single-Pass Learned Index", 2020, whose radix table
// this is, without the spline.
#ifndef CORANK_KERNELS_COMMON_KEY_BUCKETS_H_
#define CORANK_KERNELS_COMMON_KEY_BUCKETS_H_

#include <cstdint>

#include "kernels/common/merge_path.h"
#include "kernels/common/types.h"

namespace corank {

/// The logarithm of the number of buckets for `count` > 0 keys: at least 1. Of keys that are spread evenly, `keys` / 2
/// to `keys` share a bucket, or more if the table has its greatest size.
CORANK_HOST_DEVICE constexpr int KeyBucketBits(int64_t count, int64_t keys = 8) {
  constexpr int kMost = 22;  // a table that the cache of a GPU holds
  int bits = 1;
  while (bits < kMost && (keys << bits) <= count) ++bits;
  return bits;
}
/// Entries of the table: one for each bucket, and the number of keys.
constexpr int64_t KeyBucketEntries(int64_t count, int64_t keys = 8) {
  return (int64_t{1} << KeyBucketBits(count, keys)) + 1;
}

/// The buckets of the ranks from `first` to `last`. Bits: an unsigned integer.
template <typename Bits>
class KeyBuckets {
 public:
  KeyBuckets() = default;
  CORANK_HOST_DEVICE KeyBuckets(Bits first, Bits last, int bits)
      : base_(first), span_(static_cast<Bits>(last - first)) {
    const int span_bits = BitLength(span_);
    shift_ = span_bits > bits ? span_bits - bits : 0;
  }

  /// Whether a rank lies between the first and the last one.
  CORANK_HOST_DEVICE bool Holds(Bits rank) const { return static_cast<Bits>(rank - base_) <= span_; }
  /// The bucket of a rank that Holds.
  CORANK_HOST_DEVICE int64_t BucketOf(Bits rank) const {
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<Bits>(rank - base_)) >> shift_);
  }
  /// Whether all keys of a bucket are equal.
  CORANK_HOST_DEVICE bool IsExact() const { return shift_ == 0; }
  /// The entry of the table for a bucket: the first of `count` sorted ranks that is in it or in a later one.
  template <typename Index, typename Ranks>
  CORANK_HOST_DEVICE Index FirstOf(int64_t bucket, const Ranks& ranks, Index count) const {
    if (bucket > static_cast<int64_t>(static_cast<uint64_t>(span_) >> shift_)) return count;
    const Bits least = static_cast<Bits>(base_ + static_cast<Bits>(static_cast<uint64_t>(bucket) << shift_));
    return LowerBound(ranks, count, least, [](Bits a, Bits b) { return a < b; });
  }

 private:
  static CORANK_HOST_DEVICE int BitLength(uint64_t value) {
#if defined(__CUDA_ARCH__)
    return 64 - __clzll(static_cast<long long>(value));
#else
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
#endif
  }

  Bits base_ = 0, span_ = 0;
  int shift_ = 0;
};

/// The positions [begin, begin + count) of equal keys.
template <typename Index>
struct KeyRun {
  Index begin, count;
};

/// The end of the run of ranks equal to ranks[begin], which is at most `end`. O(log(run)).
template <typename Index, typename Ranks>
CORANK_HOST_DEVICE Index RunEnd(const Ranks& ranks, Index begin, Index end) {
  const auto rank = ranks[begin];
  Index step = 1;
  while (step < end - begin && ranks[begin + step] == rank) step *= 2;
  Index low = begin + step / 2 + 1, high = step < end - begin ? begin + step : end;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (ranks[middle] == rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The begin of the run of equal ranks that position `at` belongs to. O(log(run)).
template <typename Index, typename Ranks>
CORANK_HOST_DEVICE Index RunBegin(const Ranks& ranks, Index at) {
  const auto rank = ranks[at];
  Index step = 1;
  while (step <= at && ranks[at - step] == rank) step *= 2;
  Index low = step <= at ? at - step + 1 : 0, high = at - step / 2;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (ranks[middle] == rank) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

/// The positions of a bucket, as the table of `FirstOf` has them.
template <typename Index>
CORANK_HOST_DEVICE KeyRun<Index> BucketRun(const Index* table, int64_t bucket) {
  const Index begin = table[bucket], end = table[bucket + 1];
  return {begin, begin < end ? end - begin : 0};
}

/// The run of `rank` in sorted ranks, if it lies within these positions; begin is unspecified if count is 0.
template <typename Index, typename Ranks, typename Bits>
CORANK_HOST_DEVICE KeyRun<Index> FindRunWithin(const Ranks& ranks, KeyRun<Index> within, Bits rank) {
  const Index end = within.begin + within.count;
  Index begin = within.begin, count = within.count;
  while (count > 0) {
    const Index half = count / 2;
    if (ranks[begin + half] < rank) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (begin == end || ranks[begin] != rank) return {0, 0};
  return {begin, RunEnd(ranks, begin, end) - begin};
}

/// The run of `rank` in sorted ranks with the buckets and the table; begin is unspecified if count is 0. Ranks that are
/// not sorted lead to a wrong run, but never to one out of bounds.
template <typename Index, typename Ranks, typename Bits>
CORANK_HOST_DEVICE KeyRun<Index> FindRun(const Ranks& ranks, const KeyBuckets<Bits>& buckets, const Index* table,
                                         Bits rank) {
  if (!buckets.Holds(rank)) return {0, 0};
  const KeyRun<Index> bucket = BucketRun(table, buckets.BucketOf(rank));
  return bucket.count == 0 || buckets.IsExact() ? bucket : FindRunWithin(ranks, bucket, rank);
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_KEY_BUCKETS_H_
