#include "client/cli/failure.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/cli/text.h"
#include "corank/errors.h"

namespace corank::cli {
namespace {

constexpr char kExitPayload[] = "corank.cli/exit-code";
constexpr char kClosedPipePayload[] = "corank.cli/closed-pipe";

absl::Status WithExit(absl::Status status, ExitCode code) {
  status.SetPayload(kExitPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

}  // namespace

absl::Status UsageError(absl::string_view message) { return WithExit(absl::InvalidArgumentError(message), kExitUsage); }

absl::Status FileError(absl::string_view message, int errnum) {
  const std::string reason = errnum == 0 ? "" : absl::StrCat(": ", std::strerror(errnum));
  absl::Status status = WithExit(absl::FailedPreconditionError(absl::StrCat(message, reason)), kExitFile);
  if (errnum == EPIPE) status.SetPayload(kClosedPipePayload, absl::Cord());
  return status;
}

std::string InFlags(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"(token, token_file)", "(--token-file or CORANK_TOKEN)"},
                                       {"token_file: ", "--token-file: "},
                                       {"(tls.ca_file)", "(--tls-ca)"},
                                       {"tls.ca_file", "--tls-ca"},
                                       {"tls.certificate_file", "--tls-certificate"},
                                       {"tls.key_file", "--tls-key"},
                                       {"tls.server_name", "--tls-server-name"},
                                       {"header.expiry: ", "--expiry: "},
                                       {"switch TLS on (tls)", "switch TLS on (--tls, --tls-ca)"}});
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (const auto payload = status.GetPayload(kExitPayload); payload.has_value()) {
    int code = kExitRequestFailed;
    if (absl::SimpleAtoi(std::string(*payload), &code)) return static_cast<ExitCode>(code);
  }
  return absl::IsUnavailable(status) || client::WasUnconnected(status) ? kExitUnreachable : kExitRequestFailed;
}

bool IsClosedPipe(const absl::Status& status) { return status.GetPayload(kClosedPipePayload).has_value(); }

std::string ErrorJson(const absl::Status& status, absl::string_view message) {
  const ExitCode exit = ExitCodeOf(status);
  JsonObject error;
  error.Add("code", exit == kExitUsage  ? "USAGE"
                    : exit == kExitFile ? "FILE"
                                        : absl::StatusCodeToString(status.code()));
  error.Add("message", message);
  const std::optional<std::string> reason = client::ErrorReason(status);
  error.AddJson("reason", reason.has_value() ? JsonString(*reason) : "null");
  const std::optional<std::string> field = client::ViolatedField(status);
  error.AddJson("field", field.has_value() ? JsonString(*field) : "null");
  const std::optional<absl::Duration> delay = client::RetryDelay(status);
  error.AddJson("retry_after_seconds",
                delay.has_value() ? absl::StrFormat("%.6g", absl::ToDoubleSeconds(*delay)) : "null");
  return JsonObject().AddJson("error", error.Text()).Text();
}

}  // namespace corank::cli
