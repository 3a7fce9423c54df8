#include "kernels/engine/cut_ranges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/engine/rounding.h"

namespace corank {
namespace {

int64_t Sum(const std::vector<int64_t>& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

// There are about as many samples as rows in all ranges, which keeps their sum least.
int64_t SpaceOf(int64_t all_rows, int64_t runs, int64_t positions, int64_t whole) {
  const auto cuts = static_cast<double>(std::max<int64_t>(1, positions) * (runs + 2));
  return std::max(whole, RoundUp(static_cast<int64_t>(std::sqrt(static_cast<double>(all_rows) / cuts)), whole));
}

}  // namespace

CutRanges::CutRanges(std::vector<int64_t> rows, std::vector<int64_t> positions, int64_t whole)
    : rows_(std::move(rows)),
      positions_(std::move(positions)),
      whole_(whole),
      space_(SpaceOf(Sum(rows_), static_cast<int64_t>(rows_.size()), static_cast<int64_t>(positions_.size()), whole_)) {
}

int64_t CutRanges::MostSamples(int64_t rows, int64_t all_rows, int64_t runs, int64_t positions, int64_t whole) {
  return CeilDiv(rows, SpaceOf(all_rows, runs, positions, whole));
}

int64_t CutRanges::MostRows(int64_t rows, int64_t all_rows, int64_t runs, int64_t positions, int64_t whole) {
  // Find: the samples at both ends of a range are runs + 1 apart, or a range begins with its run.
  const int64_t space = SpaceOf(all_rows, runs, positions, whole);
  return positions * std::min(RoundUp(rows, whole), (runs + 2) * space + 2 * whole);
}

int64_t CutRanges::MostRowsOfAll(int64_t all_rows, int64_t runs, int64_t positions, int64_t whole) {
  // Find: between the samples at both ends of the ranges of a position there are runs + 1 spaces in all runs together.
  // Beside these each range has less than one space, and what makes it whole at either end.
  const int64_t space = SpaceOf(all_rows, runs, positions, whole);
  return positions * std::min(all_rows + runs * whole, (2 * runs + 1) * space + 2 * runs * whole);
}

void CutRanges::Find(const Search& search) {
  const auto runs = static_cast<int64_t>(rows_.size());
  const int64_t all_rows = Sum(rows_);
  int64_t all_samples = 0;
  for (size_t i = 0; i < rows_.size(); ++i) all_samples += Samples(i);
  std::vector<int64_t> low(rows_.size(), 0), fetched(rows_.size(), 0);
  int64_t low_samples = 0;
  for (const int64_t position : positions_) {
    std::vector<Range>& ranges = ranges_.emplace_back(rows_.size());
    if (position == 0 || position == all_rows) {
      for (size_t i = 0; i < rows_.size() && position > 0; ++i) ranges[i].begin = ranges[i].end = rows_[i];
      continue;
    }
    // At most `position` rows come before the first sample that is not among so many: there is a space of rows before
    // each that is.
    const int64_t more = position / space_ - low_samples;
    low = search(low, more);
    low_samples += more;
    // At least `position` rows come before the end of so many samples: of each run, all spaces between its samples.
    const int64_t high_samples = CeilDiv(position, space_) + runs;
    const bool are_all = high_samples >= all_samples;
    const std::vector<int64_t> high = are_all ? std::vector<int64_t>() : search(low, high_samples - low_samples);
    for (size_t i = 0; i < rows_.size(); ++i) {
      Range& range = ranges[i];
      range.begin = low[i] == 0 ? 0 : ((low[i] - 1) * space_ + 1) / whole_ * whole_;
      range.end = are_all ? rows_[i] : std::min(rows_[i], high[i] * space_);
      range.fetched_to = fetched[i];
      fetched[i] += RoundUp(range.end - range.begin, whole_);
    }
  }
}

std::vector<int64_t> CutRanges::At(size_t position, const Search& search) const {
  const std::vector<Range>& ranges = ranges_[position];
  int64_t rows = positions_[position];
  std::vector<int64_t> begin;
  for (const Range& range : ranges) {
    begin.push_back(range.fetched_to);
    rows -= range.begin;
  }
  std::vector<int64_t> cut = search(begin, rows);
  for (size_t i = 0; i < cut.size(); ++i) cut[i] += ranges[i].begin - ranges[i].fetched_to;
  return cut;
}

}  // namespace corank
