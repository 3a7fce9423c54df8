#include "client/cli/failure.h"

#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace corank::cli {
namespace {

constexpr char kExitPayload[] = "corank.cli/exit-code";

absl::Status WithExit(absl::Status status, ExitCode code) {
  status.SetPayload(kExitPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

}  // namespace

absl::Status UsageError(absl::string_view message) { return WithExit(absl::InvalidArgumentError(message), kExitUsage); }

absl::Status FileError(absl::string_view message, int errnum) {
  const std::string reason = errnum == 0 ? "" : absl::StrCat(": ", std::strerror(errnum));
  return WithExit(absl::FailedPreconditionError(absl::StrCat(message, reason)), kExitFile);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (const auto payload = status.GetPayload(kExitPayload); payload.has_value()) {
    int code = kExitRequestFailed;
    if (absl::SimpleAtoi(std::string(*payload), &code)) return static_cast<ExitCode>(code);
  }
  return absl::IsUnavailable(status) ? kExitUnreachable : kExitRequestFailed;
}

}  // namespace corank::cli
