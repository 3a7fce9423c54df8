// The type URLs of error details. corank.wire.v1 has the messages; the URLs name google.rpc, so that every gRPC library
// reads the details.
#ifndef CORANK_PROTO_ERROR_DETAILS_H_
#define CORANK_PROTO_ERROR_DETAILS_H_

namespace corank {

/// The domain of every ErrorInfo that corankd makes.
inline constexpr char kErrorDomain[] = "corank";

inline constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
inline constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";
inline constexpr char kRetryInfoUrl[] = "type.googleapis.com/google.rpc.RetryInfo";

}  // namespace corank

#endif  // CORANK_PROTO_ERROR_DETAILS_H_
