// UTF-8 validation for Protobuf strings and JSON.
#ifndef CORANK_SERVER_OBSERVE_UTF8_H_
#define CORANK_SERVER_OBSERVE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace corank {

/// Length of the UTF-8 sequence at the start of `text`, which must not be empty; 0 if there is no valid one.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_UTF8_H_
