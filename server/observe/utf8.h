// UTF-8 validation for Protobuf strings and JSON.
#ifndef CORANK_SERVER_OBSERVE_UTF8_H_
#define CORANK_SERVER_OBSERVE_UTF8_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace corank {

/// Length of the UTF-8 sequence at the start of `text`, which must not be empty; 0 if there is no valid one.
size_t Utf8Length(absl::string_view text);

/// The code point of one valid sequence.
uint32_t CodePointOf(absl::string_view sequence);
/// Control characters, and characters that reorder, hide or break text on a screen, such as U+0085, U+202E and U+FEFF.
bool IsControl(uint32_t code_point);
/// Valid UTF-8 without control characters.
bool IsPlainText(absl::string_view text);

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_UTF8_H_
