// Ids that name one request to its caller and in the log.
#ifndef CORANK_SERVER_RPC_REQUEST_ID_H_
#define CORANK_SERVER_RPC_REQUEST_ID_H_

#include "absl/strings/string_view.h"
#include "server/observe/trace.h"
#include "server/wire/call.h"

namespace corank {

/// Metadata key, of requests and answers.
inline constexpr char kRequestIdKey[] = "x-request-id";

/// The id from the request's options, else from its metadata, else a new one. Ids that IsValidRequestId rejects are
/// ignored. Includes the trace from the metadata's traceparent, if present.
CallId IdOf(const wire::CallHead& call, absl::string_view requested = {});

/// The trailing metadata with the id and the trace.
wire::Metadata TrailersOf(const CallId& id);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_ID_H_
