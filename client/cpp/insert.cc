#include "corank/insert.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/cpp/status_conversion.h"

namespace corank::client {

absl::StatusOr<InsertionIntervals> IntervalsToInsert(int64_t count, absl::Span<const int64_t> positions,
                                                     int64_t inserted) {
  if (static_cast<int64_t>(positions.size()) != inserted) {
    return RefuseField("positions",
                       absl::StrCat(positions.size(), " for ", inserted, " inserted elements; each needs one"));
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0 && positions[i] <= count) continue;
    return RefuseField(absl::StrCat("positions[", i, "]"),
                       absl::StrCat("must be 0 to ", count, ", not ", positions[i]));
  }
  std::vector<int64_t> order(positions.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto position = [&](int64_t i) { return positions[static_cast<size_t>(i)]; };
  if (!std::is_sorted(positions.begin(), positions.end())) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return position(a) < position(b); });
  }
  InsertionIntervals intervals;
  const auto add = [&](int64_t begin, int64_t length) {
    if (length == 0) return;
    if (!intervals.counts.empty() && intervals.source_offsets.back() + intervals.counts.back() == begin) {
      intervals.counts.back() += length;
      return;
    }
    intervals.source_offsets.push_back(begin);
    intervals.counts.push_back(length);
  };
  int64_t done = 0;
  for (const int64_t i : order) {
    add(done, position(i) - done);
    add(count + i, 1);
    done = position(i);
  }
  add(done, count - done);
  return intervals;
}

}  // namespace corank::client
