#include "server/model/offsets.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/common/operators.h"
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

int64_t LimitedCount(int64_t count, int64_t offset, int64_t limit, const std::optional<Operand>& segment_offsets) {
  if (!segment_offsets) return CountResults(count, offset, limit);
  if (limit < 0 || limit >= count) return count;
  if (segment_offsets->is_pending) {
    return segment_offsets->has_count ? MostLimited(count, limit, segment_offsets->count - 1) : count;
  }
  const Int64View offsets(*segment_offsets);
  int64_t limited = 0;
  for (int64_t i = 1; i < offsets.size(); ++i) limited += std::min(limit, offsets[i] - offsets[i - 1]);
  return limited;
}

int64_t KeptOfParts(int64_t offset, int64_t limit) {
  return limit < 0 ? -1 : ResultsEnd(std::numeric_limits<int64_t>::max(), offset, limit);
}

}  // namespace corank
