// Ids by which a caller and the log speak of the same request.
#ifndef CORANK_SERVER_RPC_REQUEST_ID_H_
#define CORANK_SERVER_RPC_REQUEST_ID_H_

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "server/observe/trace.h"

namespace corank {

/// Key of the metadata, of requests and of answers.
inline constexpr char kRequestIdKey[] = "x-request-id";

/// The id that the request asks for in its options, else in its metadata, else a new one; one that IsValidRequestId
/// refuses is not taken. With the trace of the metadata's traceparent, where it sent one.
CallId IdOf(const grpc::CallbackServerContext& context, absl::string_view requested = {});

/// Puts the id and the trace into the trailing metadata.
void ReturnId(const CallId& id, grpc::CallbackServerContext* context);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_ID_H_
