#include "server/run/row_source.h"

#include <cstring>
#include <utility>

#include "server/base/status_macros.h"

namespace corank {

absl::StatusOr<RowSource> RowSource::Open(const std::vector<std::pair<absl::string_view, const Operand*>>& arrays,
                                          ChunkPipe* pipe, JobMemory& memory) {
  RowSource source(pipe);
  if (pipe != nullptr) source.array_of_.resize(pipe->inputs().size());
  for (const auto& [field, operand] : arrays) {
    if (pipe != nullptr) {
      const StreamInput& input = pipe->inputs()[static_cast<size_t>(operand->stream_input)];
      source.array_of_[static_cast<size_t>(operand->stream_input)] = source.arrays_.size();
      source.arrays_.push_back({input.field, input.count, input.element_bytes});
      continue;
    }
    Array& array = source.arrays_.emplace_back();
    array.field = std::string(field);
    array.count = operand->count;
    array.element_bytes = operand->element_bytes;
    array.rows = static_cast<const char*>(operand->bytes);
    const int64_t bytes = CopyBytes(*operand);
    if (bytes == 0) continue;
    CORANK_ASSIGN_OR_RETURN(array.copy, memory.AllocateHost(bytes, field));
    std::memcpy(array.copy->data(), operand->bytes, static_cast<size_t>(bytes));
    array.rows = array.copy->data();
  }
  return source;
}

bool RowSource::CanRead(const Operand& array) {
  // Most bytes of an inline array beside others in shared memory.
  constexpr int64_t kMostMessageBytes = int64_t{1} << 20;
  return array.is_shared || array.is_snapshot || array.is_spilled ||
         (!array.on_device && array.size_bytes() <= kMostMessageBytes);
}

absl::Status RowSource::ReceiveAll(Lane& lane, absl::FunctionRef<absl::Status(std::vector<InputChunk> chunks)> take) {
  for (;;) {
    CORANK_ASSIGN_OR_RETURN(std::vector<InputChunk> chunks, pipe_->Receive(lane));
    if (chunks.empty()) return absl::OkStatus();
    for (InputChunk& chunk : chunks) chunk.input = array_of_[chunk.input];
    CORANK_RETURN_IF_ERROR(take(std::move(chunks)));
  }
}

}  // namespace corank
