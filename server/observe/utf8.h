// Text as Protobuf's strings and JSON hold it.
#ifndef CORANK_SERVER_OBSERVE_UTF8_H_
#define CORANK_SERVER_OBSERVE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace corank {

/// Bytes of the UTF-8 sequence that `text`, which is not empty, begins with; 0 where it does not begin with a valid
/// one.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_UTF8_H_
