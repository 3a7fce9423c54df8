#include "client/cpp/explain.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/retry.h"
#include "client/cpp/status_conversion.h"

namespace corank::client {
namespace {

/// The last of gRPC's causes, each after a colon, such as "Connection refused".
absl::string_view LastClause(absl::string_view message) {
  const size_t colon = message.rfind(": ");
  return colon == absl::string_view::npos ? message : message.substr(colon + 2);
}

/// gRPC's own message.
constexpr absl::string_view kGrpcDeadline = "Deadline Exceeded";

bool WasCutOff(absl::string_view message) {
  return absl::StrContains(message, "Socket closed") || absl::StrContains(message, "onnection reset") ||
         absl::StrContains(message, "Broken pipe") || absl::StrContains(message, "HTTP/2");
}

std::string CertificateText(absl::string_view message, const ClientOptions& options) {
  const std::string& ca = options.tls.has_value() ? options.tls->ca_file : "";
  std::string text = absl::StrCat("the certificate of the server at ", options.address, " is not trusted: ");
  const bool is_expired = absl::StrContains(message, "has expired");
  absl::StrAppend(&text, is_expired ? "it has expired"
                                    : absl::StrCat("it has expired, or is not signed by an authority ",
                                                   ca.empty() ? "of this system" : absl::StrCat("in ", ca)));
  return absl::StrCat(text, is_expired ? "; have it renewed"
                                       : "; give the certificate of the authority that signed it (tls.ca_file), or "
                                         "have it renewed");
}

/// The message for a server that has not answered.
std::string ConnectionText(const absl::Status& error, const ClientOptions& options) {
  const absl::string_view message = error.message();
  const std::string server = absl::StrCat("the server at ", options.address);
  switch (TlsTroubleOf(message)) {
    case TlsTrouble::kUntrusted:
      return CertificateText(message, options);
    case TlsTrouble::kOtherName:
      return absl::StrCat("the certificate of ", server, " does not hold the name that was asked for; use an address ",
                          "that it holds, or say which name to expect (tls.server_name)");
    case TlsTrouble::kNoTls:
      return absl::StrCat(server, " does not speak TLS on this port; use its TLS port, or no TLS");
    case TlsTrouble::kBadFiles:
      return "the TLS files cannot be used: there is no valid certificate in tls.ca_file, or tls.key_file is not the "
             "key of tls.certificate_file";
    case TlsTrouble::kNone:
      break;
  }
  if (FailureOf(error) == Failure::kLost) {
    return absl::StrCat("the connection to ", options.address, " broke before the answer came (", LastClause(message),
                        ")");
  }
  if (WasCutOff(message)) {
    return absl::StrCat(server, " closed the connection before any call: ",
                        options.tls.has_value()
                            ? "it may want a certificate that it trusts (tls.certificate_file, tls.key_file)"
                            : "it may want TLS (tls.ca_file), or be no corank server");
  }
  return absl::StrCat("no corank server answers at ", options.address, " (", LastClause(message), ")");
}

bool IsAnswered(const absl::Status& error, const Ending& ending) {
  return RetryDelay(error).has_value() || !ending.request_id.empty();
}

bool IsUnconnected(const absl::Status& error, const Ending& ending) {
  return !IsAnswered(error, ending) && absl::IsDeadlineExceeded(error) && !ending.had_connection;
}

std::string MessageOf(const absl::Status& error, const ClientOptions& options, const Ending& ending) {
  const bool is_answered = IsAnswered(error, ending);
  if (!is_answered && absl::IsUnavailable(error)) return ConnectionText(error, options);
  if (IsUnconnected(error, ending)) {
    return absl::StrCat("the deadline passed before there was a connection to ", options.address);
  }
  std::string message(error.message());
  if (!is_answered && message == kGrpcDeadline) message = "the deadline passed before all of the answer was here";
  if (absl::IsUnauthenticated(error)) {
    absl::StrAppend(&message, "; give a token that the server knows (token, token_file)");
  }
  if (absl::IsPermissionDenied(error)) absl::StrAppend(&message, "; the operator of the server can allow it");
  return message;
}

}  // namespace

TlsTrouble TlsTroubleOf(absl::string_view message) {
  const struct {
    const char* words;
    TlsTrouble trouble;
  } known[] = {{"certificate verify failed", TlsTrouble::kUntrusted},
               {"CERTIFICATE_VERIFY_FAILED", TlsTrouble::kUntrusted},
               {"is not in peer certificate", TlsTrouble::kOtherName},
               {"Hostname Verification Check failed", TlsTrouble::kOtherName},
               {"wrong version number", TlsTrouble::kNoTls},
               {"WRONG_VERSION_NUMBER", TlsTrouble::kNoTls},
               {"Failed to create security handshaker", TlsTrouble::kBadFiles},
               {"empty address list", TlsTrouble::kBadFiles}};
  for (const auto& [words, trouble] : known) {
    if (absl::StrContains(message, words)) return trouble;
  }
  return TlsTrouble::kNone;
}

absl::Status Explain(const absl::Status& error, const ClientOptions& options, const Ending& ending) {
  std::string message = MessageOf(error, options, ending);
  if (ending.attempts > 1) {
    absl::StrAppend(&message, " (tried ", ending.attempts, " times in ",
                    absl::FormatDuration(absl::Trunc(ending.elapsed, absl::Milliseconds(1))),
                    ending.reason.empty() ? "" : ": ", ending.reason,
                    ending.before.empty() ? "" : "; the try before: ", ending.before, ")");
  } else if (!ending.reason.empty()) {
    absl::StrAppend(&message, " (not tried again: ", ending.reason, ")");
  }
  if (!ending.request_id.empty() || !ending.trace_id.empty()) {
    absl::StrAppend(&message, " [", ending.request_id.empty() ? "" : "request ", ending.request_id,
                    !ending.request_id.empty() && !ending.trace_id.empty() ? ", " : "",
                    ending.trace_id.empty() ? "" : "trace ", ending.trace_id, "]");
  }
  absl::Status explained = WithMessage(error, message);
  if (IsUnconnected(error, ending)) explained.SetPayload(kUnconnectedPayload, absl::Cord());
  return explained;
}

std::string TraceId(absl::string_view traceparent) {
  return IsTraceparent(traceparent) ? std::string(traceparent.substr(3, 32)) : "";
}

}  // namespace corank::client
