#include "client/cli/text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace corank::cli {

size_t Utf8Bytes(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  uint32_t code = first & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 2) return 0;
    code = code << 6 | (next & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[bytes] || code > 0x10FFFF || is_surrogate ? 0 : bytes;
}

std::string Excerpt(absl::string_view text) {
  constexpr size_t kMost = 40;
  std::string quoted = "'";
  for (absl::string_view rest = text; !rest.empty();) {
    const size_t bytes = Utf8Bytes(rest);
    if (quoted.size() + bytes > kMost) return quoted + "...'";
    const bool is_printable = bytes > 1 || (bytes == 1 && absl::ascii_isprint(static_cast<unsigned char>(rest[0])));
    absl::StrAppend(&quoted, is_printable ? rest.substr(0, bytes) : "?");
    rest.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return quoted + "'";
}

std::string CountText(int64_t count) {
  std::string text = absl::StrCat(count);
  for (int i = static_cast<int>(text.size()) - 3; i > (count < 0 ? 1 : 0); i -= 3) text.insert(i, ",");
  return text;
}

std::string BytesText(double bytes) {
  if (bytes < 1024) return absl::StrFormat("%.0f B", bytes);
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    bytes /= 1024;
    if (bytes < 1024) return absl::StrFormat("%.1f %s", bytes, unit);
  }
  return absl::StrFormat("%.1f TiB", bytes / 1024);
}

std::string TimeText(double nanoseconds) {
  if (nanoseconds < 1e3) return absl::StrFormat("%.0f ns", nanoseconds);
  if (nanoseconds < 1e6) return absl::StrFormat("%.1f us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return absl::StrFormat("%.2f ms", nanoseconds / 1e6);
  return absl::StrFormat("%.2f s", nanoseconds / 1e9);
}

std::string JsonString(absl::string_view text) {
  std::string quoted = "\"";
  for (size_t size; !text.empty(); text.remove_prefix(size)) {
    const char c = text[0];
    const size_t bytes = Utf8Bytes(text);
    size = std::max<size_t>(bytes, 1);
    if (bytes == 0) {
      absl::StrAppend(&quoted, "\\ufffd");
    } else if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (bytes == 1 && static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      absl::StrAppend(&quoted, text.substr(0, bytes));
    }
  }
  return quoted + '"';
}

JsonObject& JsonObject::AddJson(absl::string_view name, absl::string_view json) {
  absl::StrAppend(&members_, members_.empty() ? "" : ", ", JsonString(name), ": ", json);
  return *this;
}

JsonObject& JsonObject::Add(absl::string_view name, absl::string_view text) { return AddJson(name, JsonString(text)); }
JsonObject& JsonObject::Add(absl::string_view name, int64_t number) { return AddJson(name, absl::StrCat(number)); }
JsonObject& JsonObject::Add(absl::string_view name, bool value) { return AddJson(name, value ? "true" : "false"); }
JsonObject& JsonObject::Add(absl::string_view name, double number) {
  return AddJson(name, absl::StrFormat("%.6g", number));
}

std::string JsonObject::Text() const { return absl::StrCat("{", members_, "}"); }

}  // namespace corank::cli
