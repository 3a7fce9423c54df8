// Division of rows among devices.
#ifndef CORANK_SERVER_MODEL_PARTS_H_
#define CORANK_SERVER_MODEL_PARTS_H_

#include <algorithm>
#include <cstdint>

namespace corank {

/// Where part `part` of `rows` rows begins; part `parts` begins at their end. The parts differ by one row at most, and
/// the first one is a largest one.
constexpr int64_t PartBegin(int64_t rows, int64_t parts, int64_t part) {
  return rows / parts * part + std::min(part, rows % parts);
}
constexpr int64_t PartCount(int64_t rows, int64_t parts, int64_t part) {
  return PartBegin(rows, parts, part + 1) - PartBegin(rows, parts, part);
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_PARTS_H_
