// Streamed inputs of operators that need them whole.
#ifndef CORANK_SERVER_EXECUTE_STREAM_COLLECTOR_H_
#define CORANK_SERVER_EXECUTE_STREAM_COLLECTOR_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/execute/operand.h"
#include "server/execute/stream_exchange.h"
#include "server/execute/stream_memory.h"

namespace corank {

/// Puts arrays together as their chunks come: counts, offsets and what is spilled in host memory, all others in device
/// memory. Those that may spill go on in host memory where they find half of the device's taken, or, where the request
/// may have less of the host than of the device, no room there. An array of unknown length is there twice while it
/// grows, so that it may have half of what is free. Used by the lane's thread.
class StreamCollector {
 public:
  /// The pointees outlive the collector.
  StreamCollector(StreamExchange* exchange, StreamMemory* memory, Lane* lane, v1::RequestStats* stats)
      : exchange_(exchange), memory_(memory), lane_(lane), stats_(stats) {}

  /// Waits for all inputs. The operands keep their memory; in the order of StreamExchange::inputs.
  absl::StatusOr<std::vector<Operand>> Collect();

 private:
  absl::Status Add(const std::vector<InputChunk>& chunks);
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk);
  // Waits for the copies so far; what has grown is given back.
  absl::Status FinishCopies(EngineStream& stream);
  absl::Status MakeRoom(EngineStream& stream, size_t input, int64_t elements);
  absl::Status Grow(EngineStream& stream, size_t input, int64_t needed);
  // Whether it goes to the host, since the device has no room for so many bytes of it.
  bool Spills(size_t input, int64_t bytes) const;
  // What has come of it goes there, and what comes from now on.
  absl::Status Spill(EngineStream& stream, size_t input, int64_t needed);
  // A block that an array of unknown length goes on in, which has `has` bytes and needs `needed`.
  absl::StatusOr<std::shared_ptr<StreamBlock>> AllocateGrown(size_t input, int64_t has, int64_t needed);
  // Gives back what has grown.
  absl::Status FinishRetired(EngineStream& stream);
  absl::StatusOr<std::shared_ptr<StreamBlock>> Allocate(size_t input, int64_t bytes);
  int64_t GrownBytes(size_t input, int64_t has, int64_t needed) const;
  // Where the input is, for it.
  int64_t FreeBytes(size_t input) const;
  bool IsSpilled(size_t input) const { return exchange_->inputs()[input].is_spilled || spilled_[input]; }
  bool WaitsOnHost(size_t input) const { return exchange_->inputs()[input].is_control || IsSpilled(input); }

  StreamExchange* const exchange_;
  StreamMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  std::vector<std::shared_ptr<StreamBlock>> blocks_;   // of each input; null: nothing yet
  std::vector<bool> spilled_;                          // which of those that may
  std::vector<std::shared_ptr<StreamBlock>> retired_;  // until the stream has finished
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_STREAM_COLLECTOR_H_
