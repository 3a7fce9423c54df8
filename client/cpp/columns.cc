#include "corank/columns.h"

namespace corank::client {

absl::StatusOr<std::vector<std::string>> SortedColumn::Strings() const {
  if (!offsets.has_value()) return absl::InternalError("this column holds no strings of variable length");
  if (offsets->empty() || offsets->front() != 0 || offsets->back() != static_cast<int64_t>(data.bytes.size())) {
    return absl::InternalError("the server answered strings whose offsets do not cover their bytes");
  }
  std::vector<std::string> strings;
  for (size_t i = 1; i < offsets->size(); ++i) {
    const int64_t begin = (*offsets)[i - 1], end = (*offsets)[i];
    if (begin < 0 || end < begin || end > static_cast<int64_t>(data.bytes.size())) {
      return absl::InternalError("the server answered strings whose offsets are not those of their bytes");
    }
    strings.push_back(data.bytes.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }
  return strings;
}

}  // namespace corank::client
