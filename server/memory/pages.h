// Lists that callers read a page at a time.
#ifndef CORANK_SERVER_MEMORY_PAGES_H_
#define CORANK_SERVER_MEMORY_PAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace corank {

/// The part of a list that a caller asks for. The list is ordered by name.
struct Page {
  int64_t size = 1000;  // most entries
  std::string after;    // the page begins behind this name; empty: at the start
};

/// The page that a request asks for. `list` is the list's own name, which tokens hold. INVALID_ARGUMENT for a negative
/// size, and for a token that no page of this list ends with.
absl::StatusOr<Page> ReadPage(absl::string_view list, int32_t page_size, const std::string& page_token);

/// The token of the page behind the entry of this name.
std::string PageToken(absl::string_view list, absl::string_view name);

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_PAGES_H_
