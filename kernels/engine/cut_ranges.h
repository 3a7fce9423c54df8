// Where cuts of sorted runs lie, by few of their rows.
#ifndef CORANK_KERNELS_ENGINE_CUT_RANGES_H_
#define CORANK_KERNELS_ENGINE_CUT_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace corank {

/// Finds where the runs of a stable merge end at some rows of its result, exactly. Evenly spaced rows of each run, the
/// samples, tell a range of each run in which a cut lies: a few of the spaces between them. A second search, over the
/// rows of these ranges, finds the cut. Somebody else fetches the rows and searches them.
class CutRanges {
 public:
  /// Rows of a run, and where they are among the fetched rows of all its ranges.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t fetched_to = 0;
  };
  /// Of sorted runs that have been merged up to row begin[i] of each run i: the rows at which they end `steps` rows of
  /// the merge later.
  using Search = std::function<std::vector<int64_t>(const std::vector<int64_t>& begin, int64_t steps)>;

  /// `rows`: of each run. `positions`: rows of the result, ascending. Ranges begin with multiples of `whole`, and take
  /// room for as many rows.
  CutRanges(std::vector<int64_t> rows, std::vector<int64_t> positions, int64_t whole);

  /// The rows from one sample of a run to the next.
  int64_t space() const { return space_; }
  int64_t Samples(size_t run) const { return (rows_[run] + space_ - 1) / space_; }

  /// Upper bounds, for runs with `all_rows` rows in all.
  static int64_t MostSamples(int64_t rows, int64_t all_rows, int64_t runs, int64_t positions, int64_t whole);
  /// Of the room for the ranges of a run with `rows` rows, and of all runs.
  static int64_t MostRows(int64_t rows, int64_t all_rows, int64_t runs, int64_t positions, int64_t whole);
  static int64_t MostRowsOfAll(int64_t all_rows, int64_t runs, int64_t positions, int64_t whole);

  /// `search`: over the samples.
  void Find(const Search& search);
  /// By position, then by run.
  const std::vector<std::vector<Range>>& ranges() const { return ranges_; }

  /// The row of each run at which rows [0, positions[position]) of the result end. `search`: over the ranges of the
  /// position, whose rows are counted where they were fetched to.
  std::vector<int64_t> At(size_t position, const Search& search) const;

 private:
  const std::vector<int64_t> rows_, positions_;
  const int64_t whole_, space_;
  std::vector<std::vector<Range>> ranges_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_CUT_RANGES_H_
