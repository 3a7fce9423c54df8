// Guard zones around outputs: they catch a kernel that writes outside its array, even without a sanitizer.
#ifndef CORANK_TESTS_SUPPORT_GUARD_ZONE_H_
#define CORANK_TESTS_SUPPORT_GUARD_ZONE_H_

#include <cstdint>

#include "tests/support/real_keys.h"

namespace corank::testing {

/// Bytes before and after the payload. Keeps the alignment of the whole.
inline constexpr int64_t kGuardBytes = 256;

/// Differs from byte to byte, so that a shifted copy of a guard is not mistaken for a guard.
constexpr uint8_t GuardByte(int64_t index) { return static_cast<uint8_t>(0xA5 ^ (index * 37)); }

/// Guard, payload (filled with the pattern as well), guard.
inline Bytes GuardedImage(int64_t payload_bytes) {
  Bytes image(static_cast<size_t>(payload_bytes + 2 * kGuardBytes));
  for (size_t i = 0; i < image.size(); ++i) image[i] = GuardByte(static_cast<int64_t>(i));
  return image;
}

/// Whether both guards of an image are unchanged since GuardedImage.
inline bool GuardsAreIntact(const uint8_t* image, int64_t payload_bytes) {
  for (int64_t i = 0; i < payload_bytes + 2 * kGuardBytes; ++i) {
    if (i == kGuardBytes) i += payload_bytes;
    if (image[i] != GuardByte(i)) return false;
  }
  return true;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_GUARD_ZONE_H_
