// Division of rows among devices.
#ifndef CORANK_SERVER_MODEL_PARTS_H_
#define CORANK_SERVER_MODEL_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace corank {

/// Where part `part` of `rows` rows begins; part `parts` begins at their end. The parts differ by one row at most, and
/// the first one is a largest one.
constexpr int64_t PartBegin(int64_t rows, int64_t parts, int64_t part) {
  return rows / parts * part + std::min(part, rows % parts);
}
constexpr int64_t PartCount(int64_t rows, int64_t parts, int64_t part) {
  return PartBegin(rows, parts, part + 1) - PartBegin(rows, parts, part);
}

/// Calls use(part, first, count, before) for each part with some of rows [begin, begin + rows) of `all`: from row
/// `first` of the part on there are `count`, and `before` come before them. Returns the first error.
template <typename Use>
absl::Status ForEachPart(int64_t all, int64_t parts, int64_t begin, int64_t rows, const Use& use) {
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t part_begin = PartBegin(all, parts, part);
    const int64_t first = std::max(begin, part_begin);
    const int64_t end = std::min(begin + rows, PartBegin(all, parts, part + 1));
    if (first >= end) continue;
    absl::Status used = use(static_cast<size_t>(part), first - part_begin, end - first, first - begin);
    if (!used.ok()) return used;
  }
  return absl::OkStatus();
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_PARTS_H_
