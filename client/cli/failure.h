// How commands fail: an absl::Status whose message is one line for a person and whose payload is the exit code.
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
/// Something is wrong with a file; `errnum` 0 or an errno that is put into words.
absl::Status FileError(absl::string_view message, int errnum = 0);

/// A message of the client library with flags in place of the library's options: "--tls-ca" for "tls.ca_file".
std::string InFlags(absl::string_view message);

/// The exit code for a status: of UsageError and FileError their own, kExitUnreachable for UNAVAILABLE and where the
/// deadline came before a connection, for any other error kExitRequestFailed.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FAILURE_H_
