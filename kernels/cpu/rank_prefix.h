// Sorting 64-bit ranks with their indices by items of 64 bits, which takes half the time of items of 128.
//
// An item is the leading bits of those that vary among the ranks, above the rank's index. Where they are not all of
// them, equal prefixes are neighbours in the sorted items, in the order of their indices, and are put in order by
// their whole ranks.
#ifndef CORANK_KERNELS_CPU_RANK_PREFIX_H_
#define CORANK_KERNELS_CPU_RANK_PREFIX_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// A value type.
struct RankPrefix {
  int skipped;     // leading bits that all ranks share, [0, 63]
  int index_bits;  // enough for every index, [1, 63]

  uint64_t Item(uint64_t rank, int64_t index) const { return Prefix(rank << skipped) | static_cast<uint64_t>(index); }
  uint64_t Prefix(uint64_t item) const { return item >> index_bits << index_bits; }
  int64_t Index(uint64_t item) const { return static_cast<int64_t>(item & ((uint64_t{1} << index_bits) - 1)); }
  /// Whether equal prefixes are equal ranks.
  bool HoldsAll() const { return skipped >= index_bits; }
};

/// The prefix for rank(0) to rank(count - 1); count >= 2. One read of all ranks.
template <typename Rank>
RankPrefix ChooseRankPrefix(int64_t count, const Rank& rank, Parallel& parallel) {
  std::atomic<uint64_t> varies{0};
  const uint64_t first = rank(0);
  parallel.ForRange(count, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    uint64_t differs = 0;
    for (int64_t i = begin; i < end; ++i) differs |= rank(i) ^ first;
    varies.fetch_or(differs, std::memory_order_relaxed);
  });
  return {std::min(63, absl::countl_zero(varies.load(std::memory_order_relaxed))),
          static_cast<int>(absl::bit_width(static_cast<uint64_t>(count - 1)))};
}

/// Whether few ranks that differ share their prefix, going by a sample: many would take longer to put in order than the
/// prefixes save.
template <typename Rank>
bool TellsRanksApart(const RankPrefix& prefix, int64_t count, const Rank& rank) {
  constexpr int kSample = 1024;
  constexpr int kMostClashes = kSample / 128;
  if (prefix.HoldsAll()) return true;
  std::array<uint64_t, kSample> sample;
  for (uint64_t i = 0; i < kSample; ++i) {
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // Knuth's multiplicative hashing: spreads the sample
    sample[i] = rank(static_cast<int64_t>(i * kGoldenRatio % static_cast<uint64_t>(count)));
  }
  std::sort(sample.begin(), sample.end());
  int clashes = 0;
  for (int i = 1; i < kSample; ++i) {
    clashes += sample[i] != sample[i - 1] && prefix.Item(sample[i], 0) == prefix.Item(sample[i - 1], 0);
  }
  return clashes <= kMostClashes;
}

/// Puts sorted items of equal prefix in the order of their ranks, and of their indices where those are equal too.
/// Answers whether it did: not where so many that are out of order share one prefix that they would take too long,
/// which a caller can hide from the sample.
template <typename Rank>
bool OrderEqualPrefixes(const RankPrefix& prefix, uint64_t* items, int64_t count, const Rank& rank,
                        Parallel& parallel) {
  constexpr int64_t kMostAlike = 4096;
  if (prefix.HoldsAll()) return true;
  std::atomic<bool> in_order{true};
  const auto ties = [&](int64_t i) { return prefix.Prefix(items[i]) == prefix.Prefix(items[i - 1]); };
  const int64_t pieces = PieceCount(count, int64_t{1} << 14, parallel.threads());
  // Pieces begin where a prefix does, so that none reads what another one moves.
  std::vector<int64_t> begins(static_cast<size_t>(pieces) + 1, count);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t begin = PieceBegin(count, piece, pieces);
    while (begin > 0 && begin < count && ties(begin)) ++begin;
    begins[static_cast<size_t>(piece)] = begin;
  }
  parallel.ForPieces(pieces, [&](int64_t piece) {
    const int64_t piece_end = begins[static_cast<size_t>(piece) + 1];
    for (int64_t begin = begins[static_cast<size_t>(piece)]; begin < piece_end;) {
      int64_t end = begin + 1;
      while (end < piece_end && ties(end)) ++end;
      if (end - begin > 1) {
        const auto before = [&](uint64_t a, uint64_t b) {
          const uint64_t rank_a = rank(prefix.Index(a)), rank_b = rank(prefix.Index(b));
          return rank_a != rank_b ? rank_a < rank_b : a < b;
        };
        if (!std::is_sorted(items + begin, items + end, before)) {
          if (end - begin > kMostAlike) in_order = false;
          if (!in_order) return;
          std::sort(items + begin, items + end, before);
        }
      }
      begin = end;
    }
  });
  return in_order;
}

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_RANK_PREFIX_H_
