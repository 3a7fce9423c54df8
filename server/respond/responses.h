// From an outcome to the bytes of the response message: one copy of each result.
#ifndef CORANK_SERVER_RESPOND_RESPONSES_H_
#define CORANK_SERVER_RESPOND_RESPONSES_H_

#include "corank/v1/operators.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/respond/outcome.h"

namespace corank {

/// A serialised Response (SortResponse and so on) for the outcome of a request that succeeded. Results are copied from
/// where they lie straight into the buffer, which borrows nothing. At most 2 GiB, Protobuf's limit.
template <typename Response>
grpc::ByteBuffer EncodeResponse(const Outcome& outcome);

}  // namespace corank

#endif  // CORANK_SERVER_RESPOND_RESPONSES_H_
