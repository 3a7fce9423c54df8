// Cuts sorted keys that lie on several devices, none of which reads the memory of another.
#ifndef CORANK_KERNELS_ENGINE_KEY_CUTS_H_
#define CORANK_KERNELS_ENGINE_KEY_CUTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/cut_ranges.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/range_copier.h"

namespace corank {

/// Finds the same cuts as EngineStream::SplitRuns, on the host. Each device copies the samples of its run there, and
/// then the keys of the ranges that CutRanges finds.
///
/// The order of the calls: CopySamples; the streams finish; FindRanges; CopyRanges; the streams finish; Find. Streams
/// may begin again before CopyRanges.
class KeyCuts {
 public:
  /// `runs`: keys in the memory of a device. `positions`: rows of the result, ascending.
  KeyCuts(KeyType key_type, Order order, std::vector<MergeInput> runs, const std::vector<int64_t>& positions);

  /// Upper bounds of the device memory that the stream of a run hands out at a time, and of the pinned memory that
  /// those of all runs do, where each of `runs` runs has `rows` rows or one less.
  static int64_t DeviceBytes(KeyType key_type, int64_t rows, int64_t runs, int64_t positions, const Engine& engine);
  static int64_t HostBytes(KeyType key_type, int64_t rows, int64_t runs, int64_t positions);

  /// Enqueue copies from the memory of run `run`, on a stream of its device that has begun. It keeps what they copy
  /// until it begins again.
  absl::Status CopySamples(size_t run, EngineStream& stream);
  void FindRanges() { ranges_.Find(SearchOf(samples_)); }
  absl::Status CopyRanges(size_t run, EngineStream& stream);

  /// For each position a row of each run.
  void Find(int64_t* cuts) const;

 private:
  CutRanges::Search SearchOf(const std::vector<MergeInput>& keys) const;
  absl::Status CopyToHost(size_t run, const Ranges& rows, EngineStream& stream, std::vector<MergeInput>& copies);

  const KeyType key_type_;
  const Order order_;
  const std::vector<MergeInput> runs_;
  const size_t positions_;
  CutRanges ranges_;
  std::vector<MergeInput> samples_, copied_;  // by run, in host memory
  std::deque<OperatorReport> reports_;        // of the copies
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_KEY_CUTS_H_
