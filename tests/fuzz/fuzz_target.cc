#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace corank::fuzz {

void Fail(const char* file, int line, const char* what, const std::string& more) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n%s\n", file, line, what, more.c_str());
  std::abort();
}

int64_t Input::Number() {
  constexpr int64_t kBorders[] = {-1,
                                  int64_t{1} << 31,
                                  int64_t{1} << 32,
                                  int64_t{1} << 61,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  const uint8_t first = Byte();
  if (first < 240) return first;
  if (first < 250) return first * 256 + Byte();
  return kBorders[first - 250];
}

absl::string_view Input::Take(size_t bytes) {
  const absl::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(taken.size());
  return taken;
}

std::vector<absl::string_view> Parts(absl::string_view bytes) {
  std::vector<absl::string_view> parts;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find(kSeparator), bytes.size());
    parts.push_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(bytes.size(), end + kSeparator.size()));
  }
  return parts;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string bytes;
  for (const std::string& part : parts) bytes.append(part).append(kSeparator.data(), kSeparator.size());
  return bytes;
}

}  // namespace corank::fuzz
