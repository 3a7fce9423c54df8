// A contest: our implementation and its references, run in turn in one process, each repetition timed for itself.
// Google Benchmark drives the repetitions, the filter and the listing; this adds the pairing.
#ifndef CORANK_BENCH_HARNESS_CONTEST_H_
#define CORANK_BENCH_HARNESS_CONTEST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/harness/results.h"
#include "bench/harness/statistics.h"

namespace corank::bench {

/// One side of a contest. `run` does the work once and returns the seconds it took, restoring inputs outside of them.
struct Contestant {
  std::string name;
  std::function<absl::StatusOr<double>()> run;
};

/// All sides of one piece of work, with the memory that their closures own.
struct Contest {
  std::vector<Contestant> contestants;
  /// Called once, after every contestant has run once: compares the answers. Null: nothing to compare.
  std::function<absl::Status()> check;
  /// Makes the lines of the table from the seconds of each contestant, in their order.
  std::function<std::vector<Row>(const std::vector<Summary>& seconds)> rows;
};

struct Case {
  std::string name;  // what --filter matches: "sort/auto/u32/uniform/2^28"
  int repetitions = 9;
  /// Names the line that is written when the case fails.
  Row failure_row;
  /// Allocates and generates. A contest lives until its rows are made.
  std::function<absl::StatusOr<Contest>()> prepare;
};

struct SuiteOptions {
  std::string filter = ".*";  // a regular expression, searched in the names of cases
  std::string out;            // where the JSON goes; empty: nowhere
  bool with_goals = true;     // false: the sizes are not those of the goals, rows carry none
  RunInfo info;
};

/// Runs the cases whose name matches, prints a line for each row, and writes the JSON after every case, so that a run
/// that is cut short leaves what it has. Returns the process's exit code: 0 if every case ran and every check passed.
int RunSuite(const SuiteOptions& options, std::vector<Case> cases);

/// A rate from seconds: `work` units per second, in billions. The quantiles change places.
Summary GigaPerSecond(const Summary& seconds, double work);

/// The seconds in microseconds.
Summary Microseconds(const Summary& seconds);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_CONTEST_H_
