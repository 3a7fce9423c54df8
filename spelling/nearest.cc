#include "spelling/nearest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace corank {
namespace {

// Outside input may have any length; no name is longer.
constexpr size_t kLongest = 64;
// A shorter word begins too many names.
constexpr size_t kShortestPrefix = 3;

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

std::string Nearest(absl::string_view typed, const std::vector<std::string>& known) {
  if (typed.size() > kLongest) return "";
  const std::string word = absl::AsciiStrToLower(typed);
  std::string nearest;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::string name = absl::AsciiStrToLower(candidate);
    const bool is_prefix = word.size() >= kShortestPrefix && absl::StartsWith(name, word);
    const size_t lengths = std::max(word.size(), name.size()) - std::min(word.size(), name.size());
    if (!is_prefix && lengths >= least) continue;  // the distance is at least as large
    const size_t distance = is_prefix ? 1 : static_cast<size_t>(EditDistance(word, name));
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& known, absl::string_view prefix) {
  const std::string nearest = Nearest(typed, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", prefix, nearest, "?");
}

}  // namespace corank
