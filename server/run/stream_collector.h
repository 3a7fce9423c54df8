// Streamed inputs for operators that need complete arrays.
#ifndef CORANK_SERVER_RUN_STREAM_COLLECTOR_H_
#define CORANK_SERVER_RUN_STREAM_COLLECTOR_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/model/operand.h"
#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"

namespace corank {

/// Assembles arrays as their chunks arrive: counts, offsets and spilled arrays in host memory, the others in device
/// memory. An array that may spill continues in host memory when half of the device's share is taken, or, if the
/// request may have less host memory than device memory, when the device has no room. An array of unknown length exists
/// twice while it grows, so it may take half of the free memory. Used by the lane's thread.
class StreamCollector {
 public:
  /// The pointees outlive the collector.
  StreamCollector(ChunkPipe* pipe, JobMemory* memory, Lane* lane, v1::RequestStats* stats)
      : pipe_(pipe), memory_(memory), lane_(lane), stats_(stats) {}

  /// Waits for all inputs and returns them in the order of ChunkPipe::inputs. The operands keep their memory.
  absl::StatusOr<std::vector<Operand>> Collect();

 private:
  absl::Status Add(const std::vector<InputChunk>& chunks);
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk);
  // Waits for the copies so far and frees blocks that were replaced by larger ones.
  absl::Status FinishCopies(EngineStream& stream);
  absl::Status MakeRoom(EngineStream& stream, size_t input, int64_t elements);
  // Moves an array of unknown length to a larger block, or to the host, where later chunks follow.
  absl::Status Grow(EngineStream& stream, size_t input, int64_t needed);
  // Whether the input must go to the host because the device has no room for that many bytes of it.
  bool Spills(size_t input, int64_t bytes) const;
  // A larger block for an array of unknown length that has `has` bytes and needs `needed`.
  absl::StatusOr<std::shared_ptr<StreamBlock>> AllocateGrown(size_t input, int64_t has, int64_t needed);
  // Frees blocks that were replaced by larger ones.
  absl::Status FinishRetired(EngineStream& stream);
  absl::StatusOr<std::shared_ptr<StreamBlock>> Allocate(size_t input, int64_t bytes);
  int64_t GrownBytes(size_t input, int64_t has, int64_t needed) const;
  // Bytes that the input may still take in the kind of memory that holds it.
  int64_t FreeBytes(size_t input) const;
  bool IsSpilled(size_t input) const { return pipe_->inputs()[input].is_spilled || spilled_[input]; }
  bool WaitsOnHost(size_t input) const { return pipe_->inputs()[input].is_control || IsSpilled(input); }

  ChunkPipe* const pipe_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  std::vector<std::shared_ptr<StreamBlock>> blocks_;   // of each input; null: nothing received
  std::vector<bool> spilled_;                          // which inputs have spilled
  std::vector<std::shared_ptr<StreamBlock>> retired_;  // kept until the stream has finished
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_STREAM_COLLECTOR_H_
