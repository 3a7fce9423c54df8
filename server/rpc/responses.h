// Converts an outcome to the bytes of the response message.
#ifndef CORANK_SERVER_RPC_RESPONSES_H_
#define CORANK_SERVER_RPC_RESPONSES_H_

#include "corank/v1/operators.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/model/outcome.h"

namespace corank {

/// A serialized Response (SortResponse and so on) for a successful outcome. The buffer borrows nothing: it shares the
/// memory of large results with a target and has copies of the others. At most 2 GiB, Protobuf's limit.
template <typename Response>
grpc::ByteBuffer EncodeResponse(const Outcome& outcome);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_RESPONSES_H_
