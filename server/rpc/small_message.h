// Messages of a few fields, as bytes. gRPC's own parser would run before anybody has looked at who calls, and makes of
// a byte a dozen: the calls that take these look first, and bound them.
#ifndef CORANK_SERVER_RPC_SMALL_MESSAGE_H_
#define CORANK_SERVER_RPC_SMALL_MESSAGE_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank {

/// INVALID_ARGUMENT where the bytes are no such message, or more than 64 KiB; CANCELLED where they did not come whole.
absl::Status ParseSmall(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer SmallBytes(const google::protobuf::Message& message);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_SMALL_MESSAGE_H_
