// Sorts 64-bit ranks with their indices as items of 64 bits, which takes half the time of 128-bit items.
//
// An item holds the leading bits of those that vary among the ranks, above the rank's index. If these bits are not all
// that vary, ranks with equal prefixes become neighbours in index order, and a second step orders them by their whole
// ranks.
#ifndef CORANK_KERNELS_CPU_RANK_PREFIX_H_
#define CORANK_KERNELS_CPU_RANK_PREFIX_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/cpu/parallel.h"

namespace corank::cpu {

inline int LeadingZeros(uint64_t bits) { return bits == 0 ? 64 : __builtin_clzll(bits); }

/// A value type.
struct RankPrefix {
  int skipped;     // leading bits that all ranks share, [0, 63]
  int index_bits;  // enough for every index, [1, 63]

  uint64_t Item(uint64_t rank, int64_t index) const { return Prefix(rank << skipped) | static_cast<uint64_t>(index); }
  uint64_t Prefix(uint64_t item) const { return item >> index_bits << index_bits; }
  int64_t Index(uint64_t item) const { return static_cast<int64_t>(item & ((uint64_t{1} << index_bits) - 1)); }
  /// Whether equal prefixes imply equal ranks.
  bool HoldsAll() const { return skipped >= index_bits; }
};

/// Chooses the prefix for rank(0) to rank(count - 1); count >= 2. Reads all ranks once.
template <typename Rank>
RankPrefix ChooseRankPrefix(int64_t count, const Rank& rank, Parallel& parallel) {
  std::atomic<uint64_t> varies{0};
  const uint64_t first = rank(0);
  parallel.ForRange(count, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    uint64_t differs = 0;
    for (int64_t i = begin; i < end; ++i) differs |= rank(i) ^ first;
    varies.fetch_or(differs, std::memory_order_relaxed);
  });
  return {std::min(63, LeadingZeros(varies.load(std::memory_order_relaxed))),
          64 - LeadingZeros(static_cast<uint64_t>(count - 1))};
}

/// Judges by a sample whether few different ranks share a prefix. If many do, ordering them takes longer than prefixes
/// save.
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

/// Sorts items of equal prefix by rank, and by index if the ranks are equal too. Returns whether it did. It gives up if
/// one prefix holds so many unordered items that sorting them would take too long; a caller can hide such data from the
/// sample.
template <typename Rank>
bool OrderEqualPrefixes(const RankPrefix& prefix, uint64_t* items, int64_t count, const Rank& rank,
                        Parallel& parallel) {
  constexpr int64_t kMostAlike = 4096;
  if (prefix.HoldsAll()) return true;
  std::atomic<bool> in_order{true};
  const auto ties = [&](int64_t i) { return prefix.Prefix(items[i]) == prefix.Prefix(items[i - 1]); };
  const int64_t pieces = PieceCount(count, int64_t{1} << 14, parallel.threads());
  // Pieces begin at the first item of a prefix, so that no piece reads items that another one moves.
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
