#include "client/cli/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace corank::cli {

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
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
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
