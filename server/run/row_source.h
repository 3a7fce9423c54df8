// The input of an external sort or merge.
#ifndef CORANK_SERVER_RUN_ROW_SOURCE_H_
#define CORANK_SERVER_RUN_ROW_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/model/operand.h"
#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"

namespace corank {

/// Arrays of keys and values: complete in pinned host memory, or in chunks as they come.
class RowSource {
 public:
  struct Array {
    std::string field;   // named by errors
    int64_t count = -1;  // -1: unknown until its last chunk
    int32_t element_bytes = 0;
    const char* rows = nullptr;                   // all elements, aligned, if they are there
    std::shared_ptr<StreamBlock> copy = nullptr;  // keeps them, unless the caller or the request does
  };

  /// `arrays`: with their fields. With a pipe, each is one of its inputs; without, CanRead. The pointees outlive the
  /// source.
  static absl::StatusOr<RowSource> Open(const std::vector<std::pair<absl::string_view, const Operand*>>& arrays,
                                        ChunkPipe* pipe, JobMemory& memory);

  /// Whether external work can read the array where it is, or copy it cheaply.
  static bool CanRead(const Operand& array);
  /// Pinned memory that Open takes for such an array.
  static int64_t CopyBytes(const Operand& array) {
    return array.is_shared || array.is_snapshot || array.is_spilled ? 0 : array.size_bytes();
  }

  const std::vector<Array>& arrays() const { return arrays_; }
  /// Whether all arrays are there.
  bool is_complete() const { return pipe_ == nullptr; }
  /// Gives chunks, whose `input` counts arrays(), to `take` until all arrays have ended. Returns the errors of `take`
  /// and of ChunkPipe::Receive.
  absl::Status ReceiveAll(Lane& lane, absl::FunctionRef<absl::Status(std::vector<InputChunk> chunks)> take);

 private:
  explicit RowSource(ChunkPipe* pipe) : pipe_(pipe) {}

  ChunkPipe* pipe_;  // null: complete
  std::vector<Array> arrays_;
  std::vector<size_t> array_of_;  // of each input of the pipe
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ROW_SOURCE_H_
