// A failed call in words: what went wrong, what the caller can change, how often it was tried and which request it was.
#ifndef CORANK_CLIENT_CPP_EXPLAIN_H_
#define CORANK_CLIENT_CPP_EXPLAIN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corank/client_options.h"

namespace corank::client {

/// What gRPC's message of a failed connection says that no other try will mend.
enum class TlsTrouble : uint8_t {
  kNone,
  kUntrusted,  // the server's certificate: another authority, or out of date
  kOtherName,  // the server's certificate is not for this name
  kNoTls,      // the server does not speak TLS
  kBadFiles,   // the client's own files
};

/// Of gRPC's message. Several versions of gRPC are understood; kNone for what is not.
TlsTrouble TlsTroubleOf(absl::string_view message);

/// How a call went that failed.
struct Ending {
  int attempts = 1;
  absl::Duration elapsed;
  std::string reason;      // why it was not tried again; may be empty
  std::string before;      // what the try before said, where the last one met the deadline
  std::string request_id;  // as the server says it; empty: it did not answer
  std::string trace_id;    // empty: the call is not traced
  bool had_connection = true;
};

/// The error with a message that says all this; code and payloads stay.
absl::Status Explain(const absl::Status& error, const ClientOptions& options, const Ending& ending);

/// The 32 digits in the middle of a traceparent; empty for an empty one.
std::string TraceId(absl::string_view traceparent);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_EXPLAIN_H_
