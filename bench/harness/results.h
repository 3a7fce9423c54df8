// The results file of every benchmark program. bench/results/schema.json is its schema.
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

/// Whether a greater figure is better.
enum class Better { kHigher, kLower };

/// A rate that the hardware cannot exceed, measured at the start of the run.
struct Ceiling {
  std::string name;  // "device copy"
  double gb_per_second = 0;
};

/// One line of a results table: our figure beside a reference's from the same run.
struct Row {
  std::string row;           // the work, the same for all lines of one kind: "AUTO sort"
  std::string type;          // "u32", "u32+u32"
  int64_t n = 0;             // elements
  std::string distribution;  // "uniform"; for merges and intervals their shape: "mean 16"
  Better better = Better::kHigher;
  std::string unit;            // the unit of ours, reference and spread
  std::string reference_name;  // empty: no reference
  Summary ours;
  Summary reference;
  std::string goal;                       // in words; empty: none
  std::optional<bool> met;                // unset: no goal
  std::optional<bool> checked;            // whether the answer equals an independent one; unset: nothing to compare
  std::optional<Ceiling> ceiling;         // needs figures in GB/s
  std::string note;                       // for the reader: the algorithm taken, or why a side is missing
  std::string error;                      // set: the work failed and the figures mean nothing
  std::map<std::string, double> details;  // further figures, units in their names

  /// Above 1 is better for us; 0 without a reference.
  double Ratio() const;
  /// Sets goal and met to "ratio at least `least`".
  void RequireRatio(double least);
  /// Sets goal and met to "at most the reference, `name`, plus `extra_us`". Lower figures must be better.
  void RequireExtra(double extra_us, const std::string& name);
  /// Ours as a part of the ceiling; 0 where there is none.
  double PartOfCeiling() const;
  /// Sets goal and met to "at least `least` of the ceiling", which must be set.
  void RequirePartOfCeiling(double least);
  /// Clears goal and met.
  void DropGoal();
};

/// The machine, program and date of a measurement.
struct RunInfo {
  std::string machine;
  std::string date;
  std::string commit;
  std::string command;
};

/// The date is now. The commit is `commit` or, if that is empty, the working directory's by git, or "unknown".
RunInfo DescribeRun(const std::string& machine, const std::string& commit, int argc, char** argv);

/// The number of cores that this process may use, and their model: "16 x AMD EPYC 9654".
std::string DescribeHost();

std::string ToJson(const RunInfo& info, const std::vector<Row>& rows);

/// Writes under a temporary name, then renames, so that a reader never sees half a file.
absl::Status WriteFileAtomically(const std::string& path, const std::string& content);

/// One readable line: "AUTO sort | u32 | 2^28 | uniform | 49.1 | ...".
std::string FormatRow(const Row& row);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_RESULTS_H_
