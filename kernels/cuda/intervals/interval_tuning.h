// Sizes of the interval kernels. Tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_

#include <cstdint>

namespace corank::cuda {

/// A tile is kTile steps of the merge path through units and intervals. An odd number of items keeps threads that write
/// neighbouring runs in shared memory out of each other's banks. Each thread has up to kItems units in flight, so wide
/// units get fewer.
template <int kUnitBytes>
struct IntervalTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = kUnitBytes == 16 ? 7 : 11;
  static constexpr int kTile = kThreads * kItems;
  // Starts (4 bytes) and interval numbers (2 bytes) of a tile.
  static_assert(kTile * 6 <= 48 * 1024 - 1024, "static shared memory");
  static_assert(kTile < 0x8000, "an interval's number in a tile is an int16_t");
};

/// The widest power of two, up to 16, that divides an element: what one thread moves at a time.
constexpr int UnitBytes(int element_bytes) {
  const int lowest_bit = element_bytes & -element_bytes;
  return lowest_bit < 16 ? lowest_bit : 16;
}

constexpr int IntervalTile(int unit_bytes) {
  return unit_bytes == 16 ? IntervalTuning<16>::kTile : IntervalTuning<1>::kTile;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TUNING_H_
