// A contest: our implementation and its references run in turn in one process, and each repetition is timed alone.
// Google Benchmark drives repetitions, filter and listing; this file adds the pairing.
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

/// One side of a contest. `run` does the work once and returns its seconds, without the time to restore the inputs.
struct Contestant {
  std::string name;
  std::function<absl::StatusOr<double>()> run;
};

/// All sides of one piece of work, with the memory that their closures own.
struct Contest {
  std::vector<Contestant> contestants;
  /// Called once, after every contestant has run once: compares the answers. Null: nothing to compare.
  std::function<absl::Status()> check;
  /// Makes the lines of the table from the seconds of each contestant, in order.
  std::function<std::vector<Row>(const std::vector<Summary>& seconds)> rows;
};

struct Case {
  std::string name;  // the name that --filter matches: "sort/auto/u32/uniform/2^28"
  int repetitions = 9;
  /// Names the line to write if the case fails.
  Row failure_row;
  /// Allocates and generates. A contest lives until its rows are made.
  std::function<absl::StatusOr<Contest>()> prepare;
};

struct SuiteOptions {
  std::string filter = ".*";  // a regular expression, searched in the names of cases
  std::string out;            // the path of the JSON; empty: none
  bool with_goals = true;     // false: the sizes differ from those of the goals, so rows carry none
  RunInfo info;
};

/// Runs the matching cases, prints a line for each row, and writes the JSON after every case, so that an interrupted
/// run keeps its results. Returns the process's exit code: 0 if every case ran and every check passed.
int RunSuite(const SuiteOptions& options, std::vector<Case> cases);

/// A rate from seconds: `work` units per second, in billions. Swaps the quantiles.
Summary GigaPerSecond(const Summary& seconds, double work);

/// The seconds in microseconds.
Summary Microseconds(const Summary& seconds);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_CONTEST_H_
