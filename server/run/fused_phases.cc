#include "server/run/fused_phases.h"

#include <cstdint>
#include <vector>

#include "server/base/status_macros.h"
#include "server/run/packed_stream.h"

namespace corank {
namespace {

constexpr int64_t kMostBytes = 256 << 10;
// Each array of a member starts at a multiple of 256 bytes; there are few of them.
constexpr int64_t kRoundingBytes = 16 * 256;

// A failure on the device is a failure of all members.
bool IsOfTheStream(const absl::Status& status) { return status.code() == absl::StatusCode::kUnavailable; }

absl::Status Enqueue(EngineStream& stream, absl::Span<FusedMember> members, std::vector<OperatorReport>& reports) {
  for (FusedMember& member : members) {
    member.status = member.operation->CopyIn(stream);
    if (IsOfTheStream(member.status)) return member.status;
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].status.ok()) members[i].status = members[i].operation->Run(stream, &reports[i]);
    if (IsOfTheStream(members[i].status)) return members[i].status;
  }
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  for (FusedMember& member : members) {
    if (member.status.ok()) member.status = member.operation->CopyOut(stream);
    if (IsOfTheStream(member.status)) return member.status;
  }
  return absl::OkStatus();
}

}  // namespace

bool MayRunTogether(const Operation& operation) {
  return dynamic_cast<const PhasedOperation*>(&operation) != nullptr && operation.work_bytes() <= kMostBytes;
}

void ExecuteTogether(EngineStream& stream, absl::Span<FusedMember> members) {
  int64_t bytes = 0;
  for (const FusedMember& member : members) bytes += member.operation->work_bytes() + kRoundingBytes;
  PackedStream packed(&stream, bytes);
  std::vector<OperatorReport> reports(members.size());
  absl::Status whole = packed.Begin(Pace::kPhases);
  if (whole.ok()) whole = Enqueue(packed, members, reports);
  const absl::StatusOr<PhaseTimes> times = packed.Finish();  // also after an error: copies may be in progress
  whole.Update(times.status());
  for (size_t i = 0; i < members.size(); ++i) {
    FusedMember& member = members[i];
    if (!whole.ok()) member.status = whole;
    if (!member.status.ok()) continue;
    SetTimes(*times, stream.workspace_bytes(), *member.outcome);
    if (reports[i].fault != OperatorReport::Fault::kNone) {
      member.status = member.operation->FaultStatus(reports[i]);
    } else {
      member.operation->Collect(reports[i], *member.outcome);
    }
  }
}

}  // namespace corank
