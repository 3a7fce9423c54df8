// A streamed merge: it sends rows as soon as no later row can precede them.
#ifndef CORANK_SERVER_RUN_STREAM_MERGE_H_
#define CORANK_SERVER_RUN_STREAM_MERGE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"
#include "server/run/run_merge.h"
#include "server/run/sending_sink.h"

namespace corank {

/// A merge of streamed arrays of known lengths, to streams.
struct StreamedMerge {
  RowShape shape;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  bool check_sorted = true;
  std::vector<size_t> keys_inputs;    // indices of ChunkPipe::inputs; 2 or more
  std::vector<size_t> values_inputs;  // as many if shape.value_bytes > 0
  uint32_t keys_output = 0;           // stream_ids
  uint32_t values_output = 0;
};

/// Keeps the inputs in device memory if they take at most half of the job's share of it, otherwise in pinned host
/// memory. Used by the lane's thread. Nothing is in progress on the lane's streams after each call.
class StreamMerger {
 public:
  /// The pointees outlive the merger.
  StreamMerger(const StreamedMerge& merge, ChunkPipe* exchange, JobMemory* memory, Lane* lane, v1::RequestStats* stats);

  /// Copies the chunks, returns their memory, and sends what it can without waiting for the caller to read.
  /// INVALID_ARGUMENT names an input that is not sorted, and the index.
  absl::Status Add(std::vector<InputChunk> chunks);
  /// After the last chunk: sends the rest.
  absl::Status Finish();

  /// Upper bounds of the merge's memory with tiles of `tile_bytes`: device memory, at most the job's share, and pinned
  /// memory.
  static int64_t DeviceBytes(const StreamedMerge& merge, const std::vector<StreamInput>& inputs, int64_t tile_bytes,
                             const JobMemory& memory, const Engine& engine);
  static int64_t HostBytes(const StreamedMerge& merge, const std::vector<StreamInput>& inputs, const JobMemory& memory);

  bool out_of_core() const { return !in_core_; }
  int64_t total() const { return total_; }

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

  int Columns() const { return merge_.values_inputs.empty() ? 1 : 2; }
  int64_t ElementBytes(int column) const { return column == 0 ? merge_.shape.key_bytes : merge_.shape.value_bytes; }
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk);
  absl::Status SendEarly();
  absl::Status CheckOrder();
  absl::Status CheckOrder(size_t input, int64_t end);
  absl::StatusOr<std::vector<int64_t>> SafeEnds();
  absl::StatusOr<int64_t> Bound(const Input& input, SearchBound bound, const char* key);
  std::vector<SortedRun> Runs(const std::vector<int64_t>& ends) const;

  const StreamedMerge merge_;
  ChunkPipe* const exchange_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  SendingSink sink_;
  bool in_core_ = true;
  bool in_order_ = true;
  int64_t total_ = 0;
  int64_t sent_ = 0;
  int64_t bytes_since_sent_ = 0;
  std::vector<Input> inputs_;
  std::vector<std::pair<size_t, int>> of_stream_;  // by index of ChunkPipe::inputs: which input, which column
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_STREAM_MERGE_H_
