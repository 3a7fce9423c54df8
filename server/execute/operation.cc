#include "server/execute/operation.h"

#include "absl/strings/str_cat.h"

namespace corank {

absl::Status PendingResult::Allocate(EngineStream& stream) {
  if (size_bytes() == 0) return absl::OkStatus();
  absl::StatusOr<ResultBuffer> allocated = stream.AllocateResult(size_bytes());
  if (allocated.ok()) buffer = *allocated;
  return allocated.status();
}

absl::Status PendingResult::Download(EngineStream& stream) const {
  return size_bytes() == 0 ? absl::OkStatus() : stream.Download(buffer, size_bytes());
}

absl::Status UnexpectedFault(const OperatorReport& report) {
  return absl::InternalError(absl::StrCat("the engine reports fault ", static_cast<int>(report.fault), " at index ",
                                          report.index, " of an operator that has no such fault"));
}

}  // namespace corank
