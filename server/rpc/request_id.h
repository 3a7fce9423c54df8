// Ids that name one request to its caller and in the log.
#ifndef CORANK_SERVER_RPC_REQUEST_ID_H_
#define CORANK_SERVER_RPC_REQUEST_ID_H_

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "server/observe/trace.h"

namespace corank {

/// Metadata key, of requests and answers.
inline constexpr char kRequestIdKey[] = "x-request-id";

/// The id from the request's options, else from its metadata, else a new one. Ids that IsValidRequestId rejects are
/// ignored. Includes the trace from the metadata's traceparent, if present.
CallId IdOf(const grpc::CallbackServerContext& context, absl::string_view requested = {});

/// Puts the id and the trace into the trailing metadata.
void ReturnId(const CallId& id, grpc::CallbackServerContext* context);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_ID_H_
