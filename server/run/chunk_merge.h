// A merge of chunks as they come: it sends rows as soon as no later row can precede them.
#ifndef CORANK_SERVER_RUN_CHUNK_MERGE_H_
#define CORANK_SERVER_RUN_CHUNK_MERGE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/run/device_ops/merge.h"
#include "server/run/job_memory.h"
#include "server/run/row_source.h"
#include "server/run/run_merge.h"

namespace corank {

/// Rows of all inputs together, and their columns.
int64_t RowsOf(const MergeOperation::Spec& merge);
RowShape ShapeOf(const MergeOperation::Spec& merge);

/// Keeps the inputs in device memory if they take at most half of the job's share of it, otherwise in pinned host
/// memory. Used by the lane's thread. Nothing is in progress on the lane's streams after each call.
class ChunkMerger {
 public:
  /// The lengths of all inputs are known. The pointees and references outlive the merger.
  ChunkMerger(const MergeOperation::Spec& merge, const RowSource& source, bool may_send_early, RowSink* sink,
              JobMemory* memory, Lane* lane, v1::RequestStats* stats);

  /// Copies the chunks, returns their memory, and sends what it can without waiting for the caller to read.
  /// INVALID_ARGUMENT names an input that is not sorted, and the index.
  absl::Status Add(std::vector<InputChunk> chunks);
  /// After the last chunk: sends the rest.
  absl::Status Finish();

  /// Upper bounds of the merge's memory with tiles of `tile_bytes`: device memory, at most the job's share, and pinned
  /// memory.
  static int64_t DeviceBytes(const MergeOperation::Spec& merge, int64_t tile_bytes, const JobMemory& memory,
                             const Engine& engine);
  static int64_t HostBytes(const MergeOperation::Spec& merge, const JobMemory& memory);

  bool out_of_core() const { return !in_core_; }

 private:
  // One input. Its first `sent` rows have been sent, and its first `checked` rows are known to be in order.
  struct Input {
    int64_t count = 0;
    std::array<int64_t, 2> filled = {};  // keys, values: elements received
    std::array<std::shared_ptr<StreamBlock>, 2> data;
    int64_t sent = 0;
    int64_t checked = 0;
    std::array<char, 8> last_key = {};  // last one received

    int64_t came(int columns) const { return columns == 1 ? filled[0] : std::min(filled[0], filled[1]); }
    const char* keys() const { return data[0] == nullptr ? nullptr : data[0]->data(); }
  };

  int Columns() const { return merge_.values.empty() ? 1 : 2; }
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk);
  absl::Status SendEarly();
  absl::Status CheckOrder();
  absl::Status CheckOrder(size_t input, int64_t end);
  absl::StatusOr<std::vector<int64_t>> SafeEnds();
  absl::StatusOr<int64_t> Bound(const Input& input, SearchBound bound, const char* key);
  std::vector<SortedRun> Runs(const std::vector<int64_t>& ends) const;

  const MergeOperation::Spec& merge_;
  const RowShape shape_;
  const std::vector<RowSource::Array>& arrays_;  // all keys, then all values
  const bool may_send_early_;
  RowSink* const sink_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  const bool in_core_;
  bool in_order_ = true;
  int64_t bytes_since_sent_ = 0;
  std::vector<Input> inputs_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_CHUNK_MERGE_H_
