// How commands fail: with an absl::Status whose message is one line for a person and whose payload is the exit code.
#ifndef CORANK_CLIENT_CLI_FAILURE_H_
#define CORANK_CLIENT_CLI_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitRequestFailed = 1,
  kExitUsage = 2,
  kExitFile = 3,
  kExitUnreachable = 4,
};

/// Something is wrong with the command line.
absl::Status UsageError(absl::string_view message);
/// Something is wrong with a file. `errnum` is 0, or an errno whose meaning the message then ends with.
absl::Status FileError(absl::string_view message, int errnum = 0);

/// A message of the client library with flags in place of the library's options: "--tls-ca" for "tls.ca_file".
std::string InFlags(absl::string_view message);

/// The exit code for a status. UsageError and FileError have their own. UNAVAILABLE, and a deadline that passed before
/// there was a connection, are kExitUnreachable. Any other error is kExitRequestFailed.
ExitCode ExitCodeOf(const absl::Status& status);

/// Whether this is the FileError for a pipe whose reader has gone.
bool IsClosedPipe(const absl::Status& status);

/// The error as --json prints it: {"error": {"code", "message", "reason", "field", "retry_after_seconds"}}. `code` is
/// "USAGE", "FILE" or the server's status code; the last three members are null where the server did not set them.
std::string ErrorJson(const absl::Status& status, absl::string_view message);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FAILURE_H_
