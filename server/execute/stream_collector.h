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

/// Puts arrays together as their chunks come: counts and offsets in host memory, all others in device memory.
/// Used by the lane's thread.
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
  absl::Status MakeRoom(EngineStream& stream, size_t input, int64_t elements);

  StreamExchange* const exchange_;
  StreamMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  std::vector<std::shared_ptr<StreamBlock>> blocks_;   // of each input; null: nothing yet
  std::vector<std::shared_ptr<StreamBlock>> retired_;  // until the stream has finished
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_STREAM_COLLECTOR_H_
