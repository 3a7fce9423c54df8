// Finds elements in the middle of a sorted order without a sort: a sorted sample bounds them.
#ifndef CORANK_KERNELS_COMMON_RANK_BAND_H_
#define CORANK_KERNELS_COMMON_RANK_BAND_H_

#include <cmath>
#include <cstdint>

#include "kernels/common/types.h"

namespace corank {

/// A number in [0, places) for part `part` of `parts`, which looks random within that part of the places. *jitter: bits
/// that look random, too.
CORANK_HOST_DEVICE int64_t SampledPlace(int64_t part, int64_t parts, int64_t places, uint32_t* jitter) {
  const int64_t begin = part * places / parts, end = (part + 1) * places / parts;
  const uint64_t random = static_cast<uint64_t>(part + 1) * 0x9E3779B97F4A7C15u;
  *jitter = static_cast<uint32_t>(random >> 8);
  return begin + static_cast<int64_t>((random >> 32) * static_cast<uint64_t>(end - begin) >> 32);
}

/// The band of a sample: between two of its elements lie the results, in all but one of a million cases if elements
/// near one another are unrelated.
struct RankBand {
  int64_t samples = 0;  // 0: a sort of all elements is better
  int64_t low = -1;     // position in the sorted sample of the band's least element; -1: nothing lies below the band
  int64_t high = 0;     // of its greatest element; `samples`: nothing lies above the band

  /// No more of `count` elements lie within the band, with the same certainty.
  double MostElements(int64_t count) const {
    const auto parts = static_cast<double>(high - low);
    return (parts + 5 * std::sqrt(parts) + 8) / static_cast<double>(samples + 1) * static_cast<double>(count);
  }
};

/// The samples that make their sort and that of the band equally dear: the band is 5 / sqrt(samples) of all elements.
inline int64_t BandSamples(int64_t count) {
  constexpr int64_t kLeast = 1 << 10, kMost = 1 << 20;
  int64_t samples = kLeast;
  const auto square = static_cast<double>(count) * static_cast<double>(count);
  while (samples < kMost && std::pow(static_cast<double>(samples), 3) < square) samples *= 2;
  return samples;
}

/// The band around results [first, end) of `count` sorted elements, 0 <= first < end <= count.
inline RankBand BandAround(int64_t count, int64_t first, int64_t end) {
  constexpr int64_t kLeastCount = 1 << 14;  // fewer are sorted as fast
  constexpr double kMostPart = 0.25;        // of the elements
  RankBand band;
  if (count < kLeastCount) return band;
  band.samples = BandSamples(count);
  const auto samples = static_cast<double>(band.samples);
  // The samples before a position are about normally distributed.
  const auto expected = [&](int64_t position) {
    return static_cast<double>(position) / static_cast<double>(count) * samples;
  };
  const auto margin = [&](double before) { return 5 * std::sqrt(before * (1 - before / samples)) + 8; };
  const double low = expected(first), high = expected(end);
  band.low = static_cast<int64_t>(std::floor(low - margin(low)));
  if (band.low < 0) band.low = -1;
  band.high = static_cast<int64_t>(std::ceil(high + margin(high)));
  if (band.high > band.samples) band.high = band.samples;
  if (band.MostElements(count) > kMostPart * static_cast<double>(count)) band = RankBand();
  return band;
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_RANK_BAND_H_
