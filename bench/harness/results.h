// The results file: what every benchmark program of this project writes. bench/results/schema.json is its schema.
#ifndef CORANK_BENCH_HARNESS_RESULTS_H_
#define CORANK_BENCH_HARNESS_RESULTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/harness/statistics.h"

namespace corank::bench {

/// Whether a greater figure is a better one.
enum class Better { kHigher, kLower };

/// One line of a results table: our figure beside a reference's, taken in the same run.
struct Row {
  std::string row;           // the work, as shared by all lines of one kind: "AUTO sort"
  std::string type;          // "u32", "u32+u32"
  int64_t n = 0;             // elements
  std::string distribution;  // "uniform"; for merges and intervals their shape: "mean 16"
  Better better = Better::kHigher;
  std::string unit;            // of ours, reference and spread
  std::string reference_name;  // what the reference is; empty: there is none
  Summary ours;
  Summary reference;
  std::string goal;               // in words; empty: none
  std::optional<bool> met;        // unset: no goal
  std::optional<bool> checked;    // whether the answer was compared with an independent one; unset: nothing to compare
  std::optional<double> ceiling;  // ours as a part of the hardware's bound that the goal names
  std::string note;               // what a reader must know: the algorithm taken, why a row is missing a side
  std::string error;              // set: the work failed and the figures mean nothing
  std::map<std::string, double> details;  // further figures, units in their names

  /// Above 1 is better for us; 0 where there is no reference.
  double Ratio() const;
  /// Sets goal and met to "ratio at least `least`".
  void RequireRatio(double least);
  /// Sets goal and met to "at most the reference, `name`, and `extra_us`", where lower is better.
  void RequireExtra(double extra_us, const std::string& name);
  /// Sets ceiling, and goal and met to "at least `least` of `name`".
  void RequireCeiling(double part, double least, const std::string& name);
  /// Clears goal and met.
  void DropGoal();
};

/// Who measured what, when.
struct RunInfo {
  std::string machine;
  std::string date;
  std::string commit;
  std::string command;
};

/// The date is now, the commit is `commit` or, if that is empty, what git says of the working directory ("unknown"
/// where it says nothing).
RunInfo DescribeRun(const std::string& machine, const std::string& commit, int argc, char** argv);

/// "16 x AMD EPYC 9654": the host's cores that this process may use, and their model.
std::string DescribeHost();

std::string ToJson(const RunInfo& info, const std::vector<Row>& rows);

/// Writes under a temporary name, then renames, so that a reader never sees half a file.
absl::Status WriteFileAtomically(const std::string& path, const std::string& content);

/// "AUTO sort | u32 | 2^28 | uniform | 49.1 | ...": one line for a person.
std::string FormatRow(const Row& row);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_RESULTS_H_
