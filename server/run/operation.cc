#include "server/run/operation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/memory/region_registry.h"

namespace corank {

absl::Status PhasedOperation::Execute(Lane& lane, Outcome& outcome) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(stream.Begin(pace()));
  OperatorReport report;
  const absl::Status enqueued = Enqueue(lane, &report);
  // Also after an error: enqueued copies read the request's bytes until the stream has finished.
  const absl::StatusOr<PhaseTimes> times = stream.Finish();
  CORANK_RETURN_IF_ERROR(enqueued);
  CORANK_RETURN_IF_ERROR(times.status());
  SetTimes(*times, stream.workspace_bytes(), outcome);
  if (report.fault != OperatorReport::Fault::kNone) return FaultStatus(report);
  Collect(report, outcome);
  return absl::OkStatus();
}

absl::Status PhasedOperation::Enqueue(Lane& lane, OperatorReport* report) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(CopyIn(stream));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(Run(stream, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return CopyOut(stream);
}

absl::Status PendingResult::Allocate(EngineStream& stream) {
  if (size_bytes() == 0) return absl::OkStatus();
  absl::StatusOr<ResultBuffer> allocated =
      target == nullptr ? stream.AllocateResult(size_bytes()) : target->Allocate(stream, size_bytes());
  if (allocated.ok()) buffer = *allocated;
  return allocated.status();
}

absl::Status PendingResult::Download(EngineStream& stream) const {
  if (size_bytes() == 0 || buffer.host == nullptr) return absl::OkStatus();
  CORANK_RETURN_IF_ERROR(Check());
  return stream.Download(buffer, size_bytes());
}

absl::Status Operation::Commit(Outcome& outcome) {
  CORANK_RETURN_IF_ERROR(PrepareResults(outcome));  // none is published if one cannot be
  return PublishResults(outcome);
}

absl::Status Operation::Judged(const absl::Status& executed) const {
  if (!executed.ok() && !absl::IsInvalidArgument(executed)) return executed;
  for (const SharedSource& source : sources_) {
    if (!source.region->intact()) return MadeSmaller(source.field);
  }
  return executed;
}

absl::Status PrepareResults(const Outcome& outcome) {
  for (const ResultArray& result : outcome.results) {
    if (result.target == nullptr) continue;
    CORANK_RETURN_IF_ERROR(result.target->Check());
    CORANK_RETURN_IF_ERROR(result.target->Prepare());
  }
  return absl::OkStatus();
}

absl::Status PublishResults(Outcome& outcome) {
  for (ResultArray& result : outcome.results) {
    if (result.target == nullptr) continue;
    auto described = std::make_shared<v1::Array>();
    described->set_type(result.type);
    described->set_count(result.count);
    if (result.type == v1::ELEMENT_TYPE_RECORD) {
      described->set_record_bytes(static_cast<uint32_t>(result.element_bytes));
    }
    CORANK_RETURN_IF_ERROR(result.target->Commit(described.get()));
    result.described = std::move(described);
  }
  return absl::OkStatus();
}

void SetTimes(const PhaseTimes& times, int64_t workspace_bytes, Outcome& outcome) {
  outcome.stats.set_copy_in_ns(times.copy_in_ns);
  outcome.stats.set_kernel_ns(times.kernel_ns);
  outcome.stats.set_copy_out_ns(times.copy_out_ns);
  outcome.stats.set_workspace_bytes(workspace_bytes);
}

absl::Status UnexpectedFault(const OperatorReport& report) {
  return absl::InternalError(absl::StrCat("the engine reports fault ", static_cast<int>(report.fault), " at index ",
                                          report.index, " of an operator that has no such fault"));
}

}  // namespace corank
