// The arithmetic of the interval kernels: the interval of a unit of work, the 16-byte blocks that an interval touches,
// bytes that straddle two blocks, and the tile of a window in the second launch.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_UNITS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_UNITS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// The number of bits of `heads` set at positions 0 to `position` (0 to 31).
CORANK_HOST_DEVICE int HeadsUpTo(uint32_t heads, int position) {
  const uint32_t bits = heads & (0xFFFFFFFFu >> (31 - position));
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

/// The number of bits set at positions 0 to `position` - 1.
CORANK_HOST_DEVICE int HeadsBefore(uint32_t heads, int position) {
  return HeadsUpTo(heads, position) - static_cast<int>(heads >> position & 1);
}

/// The 16-byte block of memory that is the first unit of an interval: the one with `address`, or up to 2^log_group - 1
/// blocks earlier, so that groups of adjacent threads write groups of blocks that are aligned to the size of a group.
CORANK_HOST_DEVICE int64_t FirstBlock(int64_t address, int log_group) {
  return address >> (4 + log_group) << log_group;
}

/// The number of units of an interval: whole groups of 2^log_group blocks with a byte of [address, address + bytes).
CORANK_HOST_DEVICE int64_t BlocksTouched(int64_t address, int64_t bytes, int log_group) {
  const int log_bytes = 4 + log_group;
  return bytes == 0 ? 0 : (((address + bytes - 1) >> log_bytes) - (address >> log_bytes) + 1) << log_group;
}

/// The 4 bytes that start `shift` (0 to 3) bytes into `low` and continue in `high`, little-endian.
CORANK_HOST_DEVICE uint32_t BytesBetween(uint32_t low, uint32_t high, int shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, 8 * shift);
#else
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (8 * shift));
#endif
}

/// The 16 bytes that start `shift` (0 to 15) bytes into the 32 bytes of `words`. All indices are constants, so that the
/// words stay in registers.
CORANK_HOST_DEVICE void BytesBetween(const uint32_t (&words)[8], int shift, uint32_t (&out)[4]) {
  uint32_t near[6];
  for (int i = 0; i < 6; ++i) near[i] = (shift & 8) != 0 ? words[i + 2] : words[i];
  uint32_t next[5];
  for (int i = 0; i < 5; ++i) next[i] = (shift & 4) != 0 ? near[i + 1] : near[i];
  for (int i = 0; i < 4; ++i) out[i] = BytesBetween(next[i], next[i + 1], shift & 3);
}

/// A tile for the second launch.
struct LeftTile {
  int64_t tile;
  int64_t base;          // sum of the counts before the tile, if the operator needs it
  int64_t first_window;  // number of the tile's first window among all windows of the second launch
  int64_t windows;
};

/// The number of tiles and of their windows in one word: one atomicAdd raises both, so that both orders agree.
using LeftCount = unsigned long long;
inline constexpr int kLeftWindowBits = 40;

CORANK_HOST_DEVICE LeftCount PackLeft(int64_t tiles, int64_t windows) {
  return static_cast<LeftCount>(tiles) << kLeftWindowBits | static_cast<LeftCount>(windows);
}
CORANK_HOST_DEVICE int64_t LeftTiles(LeftCount count) { return static_cast<int64_t>(count >> kLeftWindowBits); }
CORANK_HOST_DEVICE int64_t LeftWindows(LeftCount count) {
  return static_cast<int64_t>(count & ((LeftCount{1} << kLeftWindowBits) - 1));
}

/// The tile that holds `window`, one of the windows of tiles[0, count). Left has a member first_window.
template <typename Left>
CORANK_HOST_DEVICE int64_t TileOfWindow(const Left* tiles, int64_t count, int64_t window) {
  int64_t low = 0;
  for (int64_t high = count; high - low > 1;) {
    const int64_t middle = low + (high - low) / 2;
    if (tiles[middle].first_window <= window) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_UNITS_H_
