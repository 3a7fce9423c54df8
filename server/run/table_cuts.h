// Cuts sorted tables that lie on several devices.
#ifndef CORANK_SERVER_RUN_TABLE_CUTS_H_
#define CORANK_SERVER_RUN_TABLE_CUTS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/cut_ranges.h"
#include "kernels/engine/engine.h"
#include "server/run/table.h"

namespace corank {

/// Finds where the runs of a stable merge end at some rows of its result, exactly, by few rows of the runs. Each device
/// copies the samples of its run to the host, and then the rows of the ranges that CutRanges finds. CutTables searches
/// these.
///
/// Tables have no strings. The order of the calls: CopySamples; the streams finish; FindRanges; CopyRanges; the streams
/// finish; At. A thread for each run may make those of its run; other threads may call At at the same time.
class TableCuts {
 public:
  /// `rows`: of each run. `positions`: rows of the result, ascending. All but the last one are whole rows
  /// (TableShape::WholeRows); so is the number of rows of each run that another one with rows follows.
  TableCuts(const TableShape& shape, const std::vector<int64_t>& rows, const std::vector<int64_t>& positions);

  /// Upper bound of the device memory that the streams of a run with `rows` rows hand out, of `all_rows` in `runs`
  /// runs.
  static int64_t DeviceBytes(const TableShape& shape, int64_t rows, int64_t all_rows, int64_t runs, int64_t positions,
                             const Engine& engine);
  /// Upper bound of the pinned memory that the streams of all runs hand out.
  static int64_t HostBytes(const TableShape& shape, int64_t all_rows, int64_t runs, int64_t positions);

  /// Enqueue copies from the memory of run `run`, a sorted table, on a stream of its device that has begun. It keeps
  /// what they copy until it begins again.
  absl::Status CopySamples(size_t run, const std::vector<char*>& arrays, EngineStream& stream);
  void FindRanges();
  absl::Status CopyRanges(size_t run, const std::vector<char*>& arrays, EngineStream& stream);

  /// The row of each run at which rows [0, positions[position]) of the result end.
  std::vector<int64_t> At(size_t position) const;

 private:
  const TableShape& shape_;
  CutRanges ranges_;
  std::vector<TableRun> samples_, copied_;           // by run, in host memory
  std::vector<std::deque<OperatorReport>> reports_;  // by run: of the copies
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_CUTS_H_
