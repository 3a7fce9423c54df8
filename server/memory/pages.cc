#include "server/memory/pages.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/errors.h"
#include "server/memory/names.h"

namespace corank {

absl::StatusOr<Page> ReadPage(absl::string_view list, int32_t page_size, const std::string& page_token) {
  if (page_size < 0) return InvalidField("page_size", absl::StrCat("must be 0 or more, not ", page_size));
  Page page;
  if (page_size > 0) page.size = std::min<int64_t>(page_size, page.size);
  if (page_token.empty()) return page;
  std::string content;
  absl::string_view name;
  const bool decoded = absl::WebSafeBase64Unescape(page_token, &content);
  name = content;
  // Decoding is lenient, so only a token that comes out the same again is one of the server's.
  if (!decoded || !absl::ConsumePrefix(&name, absl::StrCat(list, "/")) || !CheckName("page_token", name).ok() ||
      PageToken(list, name) != page_token) {
    return InvalidField("page_token", "must be empty or the next_page_token of a response of the same method");
  }
  page.after = std::string(name);
  return page;
}

std::string PageToken(absl::string_view list, absl::string_view name) {
  return absl::WebSafeBase64Escape(absl::StrCat(list, "/", name));
}

}  // namespace corank
