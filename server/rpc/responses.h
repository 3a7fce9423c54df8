// Converts an outcome to the bytes of the response message.
#ifndef CORANK_SERVER_RPC_RESPONSES_H_
#define CORANK_SERVER_RPC_RESPONSES_H_

#include "corank/v1/corank_service.pb.h"
#include "corank/v1/operators.pb.h"
#include "server/base/bytes.h"
#include "server/model/outcome.h"

namespace corank {

/// A serialized Response (SortResponse and so on) for a successful outcome. It borrows nothing: it shares the memory
/// of large results with a target and has copies of the others. At most 2 GiB, Protobuf's limit.
template <typename Response>
Bytes EncodeResponse(const Outcome& outcome);

/// The ExecuteResponse with the result of this operation of a plan. Borrows nothing, as above.
Bytes EncodeResult(const v1::Operation& operation, const Outcome& outcome);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_RESPONSES_H_
