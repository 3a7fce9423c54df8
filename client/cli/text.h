// Numbers as text for people, and JSON for programs.
#ifndef CORANK_CLIENT_CLI_TEXT_H_
#define CORANK_CLIENT_CLI_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace corank::cli {

/// "1,234,567".
std::string CountText(int64_t count);
/// "17 B", "64.0 MiB".
std::string BytesText(double bytes);
/// "850 ns", "12.3 us", "4.56 ms", "7.89 s".
std::string TimeText(double nanoseconds);

/// Bytes of the UTF-8 character that the text begins with; 0 if it begins with none. The text is not empty.
size_t Utf8Bytes(absl::string_view text);

/// The text in quotes for a message, at most 40 bytes of it, without control characters.
std::string Excerpt(absl::string_view text);

/// The text as a JSON string, with its quotes. U+FFFD replaces each byte that belongs to no UTF-8 character.
std::string JsonString(absl::string_view text);

/// Builds one JSON object. Its members keep the order in which they are added.
class JsonObject {
 public:
  JsonObject& Add(absl::string_view name, absl::string_view text);
  JsonObject& Add(absl::string_view name, const char* text) { return Add(name, absl::string_view(text)); }
  JsonObject& Add(absl::string_view name, int64_t number);
  JsonObject& Add(absl::string_view name, double number);
  JsonObject& Add(absl::string_view name, bool value);
  /// `json` must be valid JSON.
  JsonObject& AddJson(absl::string_view name, absl::string_view json);
  /// The object on one line.
  std::string Text() const;

 private:
  std::string members_;
};

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_TEXT_H_
