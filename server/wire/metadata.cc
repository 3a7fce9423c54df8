#include "server/wire/metadata.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace corank::wire {

absl::string_view Metadata::Get(absl::string_view key) const {
  absl::string_view found;
  int count = 0;
  for (const auto& [name, value] : entries_) {
    if (name != key) continue;
    found = value;
    ++count;
  }
  return count == 1 ? found : absl::string_view();
}

std::vector<absl::string_view> Metadata::All(absl::string_view key) const {
  std::vector<absl::string_view> values;
  for (const auto& [name, value] : entries_) {
    if (name == key) values.emplace_back(value);
  }
  return values;
}

bool IsBinary(absl::string_view key) { return absl::EndsWith(key, "-bin"); }

std::optional<std::vector<std::string>> DecodeBinary(absl::string_view value) {
  std::vector<std::string> values;
  for (const absl::string_view part : absl::StrSplit(value, ',')) {
    std::string bytes;
    if (!absl::Base64Unescape(absl::StripAsciiWhitespace(part), &bytes)) return std::nullopt;
    values.push_back(std::move(bytes));
  }
  return values;
}

std::string EncodeBinary(absl::string_view bytes) {
  std::string text = absl::Base64Escape(bytes);
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

std::string EncodeMessage(absl::string_view message) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto is_plain = [](char letter) { return letter >= 0x20 && letter <= 0x7e && letter != '%'; };
  std::string encoded;
  encoded.reserve(message.size());
  for (const char letter : message) {
    const auto code = static_cast<unsigned char>(letter);
    if (is_plain(letter)) {
      encoded += letter;
      continue;
    }
    encoded += '%';
    encoded += kDigits[code >> 4];
    encoded += kDigits[code & 15];
  }
  return encoded;
}

const std::string& LastEncoded::TextOf(absl::string_view value) {
  if (value != value_) {
    value_ = std::string(value);
    text_ = encode_(value);
  }
  return text_;
}

std::optional<std::chrono::nanoseconds> ParseTimeout(absl::string_view value) {
  if (value.size() < 2 || value.size() > 9) return std::nullopt;
  const absl::string_view digits = value.substr(0, value.size() - 1);
  for (const char digit : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(digit))) return std::nullopt;
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number)) return std::nullopt;
  switch (value.back()) {
    case 'n':
      return std::chrono::nanoseconds(number);
    case 'u':
      return std::chrono::microseconds(number);
    case 'm':
      return std::chrono::milliseconds(number);
    case 'S':
      return std::chrono::seconds(number);
    case 'M':
      return std::chrono::minutes(number);
    // 99999999 hours are 11,400 years; nanoseconds end after 292.
    case 'H':
      return std::chrono::hours(std::min<int64_t>(number, 2'000'000));
    default:
      return std::nullopt;
  }
}

}  // namespace corank::wire
