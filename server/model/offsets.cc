#include "server/model/offsets.h"

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace corank {

absl::Status CheckRisingOffsets(const Int64View& offsets, absl::string_view field, std::optional<int64_t> last_offset,
                                absl::string_view parts, absl::string_view elements) {
  const auto path = [field](int64_t i) { return absl::StrCat(field, "[", i, "]"); };
  if (offsets.size() == 0) {
    return InvalidField(field, absl::StrCat("needs one offset more than there are ", parts, ", so at least one"));
  }
  if (offsets[0] != 0) return InvalidField(path(0), absl::StrCat("the first offset must be 0, not ", offsets[0]));
  for (int64_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      return InvalidField(path(i), absl::StrCat(offsets[i], " is smaller than the offset before it, ", offsets[i - 1]));
    }
  }
  const int64_t last = offsets.size() - 1;
  if (last_offset && offsets[last] != *last_offset) {
    return InvalidField(path(last), absl::StrCat("the last offset must be the number of ", elements, ", ", *last_offset,
                                                 ", not ", offsets[last]));
  }
  return absl::OkStatus();
}

}  // namespace corank
