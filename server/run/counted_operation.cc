#include "server/run/counted_operation.h"

namespace corank {

absl::Status CountedOperation::Execute(Lane& lane, Outcome& outcome) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  const absl::Status enqueued = Enqueue(lane);
  if (!enqueued.ok()) return FinishStream(stream, enqueued, &outcome.stats);
  CORANK_RETURN_IF_ERROR(stream.Finish().status());  // the times of the second wait include these
  CORANK_ASSIGN_OR_RETURN(const int64_t count, Count());
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(FinishStream(stream, Download(stream, count), &outcome.stats));
  for (const Made& made : made_) {
    ResultArray result = made.result.Collect();
    if (!made.is_whole) result.count = count;
    outcome.results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status CountedOperation::Enqueue(Lane& lane) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(CopyIn(stream));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(Run(stream));
  return stream.EndKernels();
}

int64_t CountedOperation::result_bytes() const {
  int64_t bytes = 0;
  for (const Made& made : made_) bytes += made.result.size_bytes();
  return bytes;
}

absl::Status CountedOperation::CopyIn(EngineStream& stream) {
  for (Made& made : made_) {
    CORANK_RETURN_IF_ERROR(made.result.Allocate(stream));
    made.set(made.place, made.result.buffer.device);
  }
  return absl::OkStatus();
}

absl::Status CountedOperation::Download(EngineStream& stream, int64_t count) const {
  for (const Made& made : made_) CORANK_RETURN_IF_ERROR(made.result.Check());
  for (const Made& made : made_) {
    PendingResult result = made.result;
    if (!made.is_whole) result.count = count;
    CORANK_RETURN_IF_ERROR(result.Download(stream));
  }
  return absl::OkStatus();
}

}  // namespace corank
