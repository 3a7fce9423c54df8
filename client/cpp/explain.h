// Explains a failed call: what went wrong, what the caller can change, how many attempts there were, which request.
#ifndef CORANK_CLIENT_CPP_EXPLAIN_H_
#define CORANK_CLIENT_CPP_EXPLAIN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corank/client_options.h"

namespace corank::client {

/// TLS failures that a retry cannot mend.
enum class TlsTrouble : uint8_t {
  kNone,
  kUntrusted,  // the server's certificate has an unknown authority or has expired
  kOtherName,  // the server's certificate is not for this name
  kNoTls,      // the server does not speak TLS
  kBadFiles,   // the client's own files do not work
};

/// Classifies gRPC's message. Knows several versions of gRPC; kNone for an unknown message.
TlsTrouble TlsTroubleOf(absl::string_view message);

/// How a failed call went.
struct Ending {
  int attempts = 1;
  absl::Duration elapsed;
  std::string reason;      // why the client did not retry; may be empty
  std::string before;      // the error of the attempt before, if the last one met the deadline
  std::string request_id;  // from the server; empty if it did not answer
  std::string trace_id;    // empty if the call is not traced
  bool had_connection = true;
};

/// The error with a message that says all this, and the same code and payloads.
absl::Status Explain(const absl::Status& error, const ClientOptions& options, const Ending& ending);

/// The trace id of a traceparent: its 32 digits. Empty for a malformed one.
std::string TraceId(absl::string_view traceparent);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_EXPLAIN_H_
