#include "server/run/counted_operation.h"

namespace corank {

absl::Status CountedOperation::Execute(Lane& lane, Outcome& outcome) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  const absl::Status enqueued = EnqueueKernels(lane, [&] { return Run(stream); });
  if (!enqueued.ok()) return FinishStream(stream, enqueued, &outcome.stats);
  CORANK_RETURN_IF_ERROR(stream.Finish().status());  // the times of the second wait include these
  CORANK_ASSIGN_OR_RETURN(const int64_t count, Count());
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(FinishStream(stream, Download(stream, count), &outcome.stats));
  for (size_t i = 0; i < results().size(); ++i) {
    ResultArray result = results()[i].Collect();
    if (!are_whole_[i]) result.count = count;
    outcome.results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status CountedOperation::Download(EngineStream& stream, int64_t count) const {
  for (const PendingResult& result : results()) CORANK_RETURN_IF_ERROR(result.Check());
  for (size_t i = 0; i < results().size(); ++i) {
    PendingResult result = results()[i];
    if (!are_whole_[i]) result.count = count;
    CORANK_RETURN_IF_ERROR(result.Download(stream));
  }
  return absl::OkStatus();
}

}  // namespace corank
