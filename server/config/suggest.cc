#include "server/config/suggest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace corank {
namespace {

// Outside input may have any length; no setting's name is longer.
constexpr size_t kLongest = 64;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> two_before(b.size() + 1), before(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_before, before);
    std::swap(before, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongest) return "";
  std::string nearest;
  int least = static_cast<int>(std::max<size_t>(name.size() / 3, 1)) + 1;
  for (const std::string& candidate : candidates) {
    const size_t lengths = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (lengths >= static_cast<size_t>(least)) continue;  // the distance is at least as large
    const int distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace corank
