#include "server/run/operation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/memory/region_registry.h"
#include "server/model/parts.h"
#include "server/run/external_work.h"
#include "server/run/overlap.h"

namespace corank {

absl::Status PhasedOperation::Execute(Lane& lane, Outcome& outcome) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(stream.Begin(pace()));
  OperatorReport report;
  CORANK_RETURN_IF_ERROR(FinishStream(stream, Enqueue(lane, &report), &outcome.stats));
  if (report.fault != OperatorReport::Fault::kNone) return FaultStatus(report);
  Collect(report, outcome);
  return absl::OkStatus();
}

absl::Status PhasedOperation::Enqueue(Lane& lane, OperatorReport* report) {
  CORANK_RETURN_IF_ERROR(EnqueueKernels(lane, [&] { return Run(lane.stream(), report); }));
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return CopyOut(lane.stream());
}

absl::Status KernelOperation::EnqueueKernels(Lane& lane, absl::FunctionRef<absl::Status()> run) {
  EngineStream& stream = lane.stream();
  CORANK_RETURN_IF_ERROR(CopyIn(stream));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  lane.set_next_stage(Stage::kKernel);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(run());
  return stream.EndKernels();
}

int64_t KernelOperation::work_bytes() const {
  int64_t bytes = 0;
  for (const Place& input : inputs_) bytes += input.input->size_bytes();
  for (const PendingResult& result : results_) bytes += result.size_bytes();
  return bytes;
}

bool KernelOperation::AnyInput(absl::FunctionRef<bool(const Operand&)> is) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [is](const Place& input) { return is(*input.input); });
}

bool KernelOperation::OverwritesInputs() const {
  return std::any_of(results_.begin(), results_.end(), [this](const PendingResult& result) {
    return AnyInput([&](const Operand& input) { return Overlaps(input, result.target, result.size_bytes()); });
  });
}

absl::Status KernelOperation::CopyIn(EngineStream& stream) {
  for (const Place& input : inputs_) {
    CORANK_ASSIGN_OR_RETURN(const void* const d_bytes, Upload(stream, *input.input));
    input.set(input.place, d_bytes);
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    CORANK_RETURN_IF_ERROR(results_[i].Allocate(stream));
    places_[i].set(places_[i].place, results_[i].buffer.device);
  }
  return absl::OkStatus();
}

absl::Status PhasedOperation::CopyOut(EngineStream& stream) {
  for (const PendingResult& result : results()) CORANK_RETURN_IF_ERROR(result.Check());
  for (const PendingResult& result : results()) CORANK_RETURN_IF_ERROR(result.Download(stream));
  return absl::OkStatus();
}

void PhasedOperation::Collect(const OperatorReport&, Outcome& outcome) const {
  for (const PendingResult& result : results()) outcome.results.push_back(result.Collect());
}

absl::Status PendingResult::Allocate(EngineStream& stream) {
  if (size_bytes() == 0) return absl::OkStatus();
  if (target != nullptr && target->is_sharded()) {
    CORANK_ASSIGN_OR_RETURN(buffer.device, stream.AllocateDevice(size_bytes()));
    return absl::OkStatus();
  }
  CORANK_ASSIGN_OR_RETURN(
      buffer, target == nullptr ? stream.AllocateResult(size_bytes()) : target->Allocate(stream, size_bytes()));
  return absl::OkStatus();
}

absl::Status PendingResult::Download(EngineStream& stream) const {
  if (target != nullptr && target->is_sharded()) {
    CORANK_ASSIGN_OR_RETURN(const int64_t parts, target->Divide(count));
    const auto copy = [&](size_t part, int64_t, int64_t elements, int64_t before) -> absl::Status {
      CORANK_ASSIGN_OR_RETURN(void* const d_part, target->AllocateShard(part));
      const auto* const d_from = static_cast<const char*>(buffer.device) + before * element_bytes;
      return stream.Copy(d_part, d_from, elements * element_bytes);
    };
    return ForEachPart(count, parts, 0, count, copy);
  }
  if (size_bytes() == 0 || buffer.host == nullptr) return absl::OkStatus();
  CORANK_RETURN_IF_ERROR(Check());
  return stream.Download(buffer, size_bytes());
}

absl::StatusOr<EngineStream*> Lane::StreamOn(int device, int i) {
  if (device != stream().device()) return absl::InternalError("this lane has streams of its own device only");
  return i == 0 ? &stream() : ExtraStream(i - 1);
}

std::unique_ptr<const ExternalWork> Operation::external() const { return nullptr; }

std::unique_ptr<Operation> Operation::Sharded(const DeviceGroup&) const { return nullptr; }

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

void AddTimes(const PhaseTimes& times, int64_t workspace_bytes, v1::RequestStats* stats) {
  stats->set_copy_in_ns(stats->copy_in_ns() + times.copy_in_ns);
  stats->set_kernel_ns(stats->kernel_ns() + times.kernel_ns);
  stats->set_copy_out_ns(stats->copy_out_ns() + times.copy_out_ns);
  stats->set_workspace_bytes(std::max(stats->workspace_bytes(), workspace_bytes));
}

void AddLongest(const std::vector<const v1::RequestStats*>& devices, v1::RequestStats* stats) {
  PhaseTimes longest;
  int64_t workspace_bytes = 0;
  for (const v1::RequestStats* const device : devices) {
    longest.copy_in_ns = std::max(longest.copy_in_ns, device->copy_in_ns());
    longest.kernel_ns = std::max(longest.kernel_ns, device->kernel_ns());
    longest.copy_out_ns = std::max(longest.copy_out_ns, device->copy_out_ns());
    workspace_bytes = std::max(workspace_bytes, device->workspace_bytes());
  }
  AddTimes(longest, workspace_bytes, stats);
}

absl::Status FinishStream(EngineStream& stream, const absl::Status& enqueued, v1::RequestStats* stats) {
  const absl::StatusOr<PhaseTimes> times = stream.Finish();
  CORANK_RETURN_IF_ERROR(enqueued);
  CORANK_RETURN_IF_ERROR(times.status());
  AddTimes(*times, stream.workspace_bytes(), stats);
  return absl::OkStatus();
}

absl::Status FinishCopyIn(EngineStream& stream, absl::Status enqueued, v1::RequestStats* stats) {
  enqueued.Update(stream.EndCopyIn());
  enqueued.Update(stream.EndKernels());
  return FinishStream(stream, enqueued, stats);
}

absl::Status UnexpectedFault(const OperatorReport& report) {
  return absl::InternalError(absl::StrCat("the engine reports fault ", static_cast<int>(report.fault), " at index ",
                                          report.index, " of an operator that has no such fault"));
}

absl::Status NotSorted(absl::string_view field, int64_t index, Order order) {
  return FieldError(v1::ERROR_REASON_KEYS_NOT_SORTED, field,
                    absl::StrCat("not sorted in ", order == Order::kAscending ? "ascending" : "descending",
                                 " order: the element at index ", index, " comes before the one at index ", index - 1),
                    {{"index", absl::StrCat(index)}});
}

}  // namespace corank
