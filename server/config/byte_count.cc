#include "server/config/byte_count.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace corank {
namespace {

struct Unit {
  absl::string_view name;  // in lower case
  double bytes;
};

constexpr double kKibi = 1024;
constexpr Unit kUnits[] = {{"b", 1},
                           {"k", kKibi},
                           {"kib", kKibi},
                           {"kb", 1e3},
                           {"m", kKibi* kKibi},
                           {"mib", kKibi* kKibi},
                           {"mb", 1e6},
                           {"g", kKibi* kKibi* kKibi},
                           {"gib", kKibi* kKibi* kKibi},
                           {"gb", 1e9},
                           {"t", kKibi* kKibi* kKibi* kKibi},
                           {"tib", kKibi* kKibi* kKibi* kKibi},
                           {"tb", 1e12}};

}  // namespace

bool AbslParseFlag(absl::string_view text, ByteCount* value, std::string* error) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  int64_t whole = 0;
  if (absl::SimpleAtoi(trimmed, &whole)) {
    *value = whole;
    return true;
  }
  const size_t digits = trimmed.find_first_not_of("+-.0123456789");
  const std::string unit = digits == absl::string_view::npos
                               ? "b"
                               : absl::AsciiStrToLower(absl::StripAsciiWhitespace(trimmed.substr(digits)));
  double number = 0;
  for (const Unit& known : kUnits) {
    if (known.name != unit || !absl::SimpleAtod(absl::StripAsciiWhitespace(trimmed.substr(0, digits)), &number))
      continue;
    const double bytes = number * known.bytes;
    if (!(std::abs(bytes) < 9.2e18)) break;
    if (bytes != std::floor(bytes)) {
      *error = "is not a whole number of bytes";
      return false;
    }
    *value = static_cast<int64_t>(bytes);
    return true;
  }
  *error = "bytes are a number with or without a unit, such as 65536, 64KiB or 2GiB";
  return false;
}

std::string AbslUnparseFlag(ByteCount value) {
  const int64_t bytes = value;
  constexpr absl::string_view kNames[] = {"TiB", "GiB", "MiB", "KiB"};
  int64_t unit = int64_t{1} << 40;
  for (const absl::string_view name : kNames) {
    if (bytes != 0 && bytes % unit == 0) return absl::StrCat(bytes / unit, name);
    unit >>= 10;
  }
  return absl::StrCat(bytes);
}

}  // namespace corank
