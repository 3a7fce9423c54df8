#include "server/observe/utf8.h"

#include <algorithm>
#include <iterator>

namespace corank {

size_t Utf8Length(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond_unicode = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond_unicode ? 0 : length;
}

uint32_t CodePointOf(absl::string_view sequence) {
  constexpr uint32_t kFirstBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};  // by length
  uint32_t code = static_cast<unsigned char>(sequence[0]) & kFirstBits[sequence.size()];
  for (size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3F);
  return code;
}

bool IsControl(uint32_t code_point) {
  constexpr struct {
    uint32_t first, last;
  } kRanges[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200F},   {0x2028, 0x202E},
      {0x2060, 0x206F}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code_point](const auto& range) { return range.first <= code_point && code_point <= range.last; });
}

bool IsPlainText(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || IsControl(CodePointOf(text.substr(0, length)))) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace corank
