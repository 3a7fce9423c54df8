// A number of bytes as people write it: 4096, 64KiB, 1.5GiB.
#ifndef CORANK_SERVER_CONFIG_BYTE_COUNT_H_
#define CORANK_SERVER_CONFIG_BYTE_COUNT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace corank {

/// A flag type. Reads a whole number of bytes, or any number with a unit: B, KiB, MiB, GiB or TiB (powers of 1024, also
/// as K, M, G and T) or KB, MB, GB or TB (powers of 1000), in either case. Writes the largest unit of 1024 that needs
/// no fraction.
class ByteCount {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): stands for its number
  constexpr ByteCount(int64_t bytes = 0) : bytes_(bytes) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator int64_t() const { return bytes_; }

 private:
  int64_t bytes_;
};

// For ABSL_FLAG.
bool AbslParseFlag(absl::string_view text, ByteCount* value, std::string* error);
std::string AbslUnparseFlag(ByteCount value);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_BYTE_COUNT_H_
