// Messages of a few fields, as bytes. gRPC's own parser would run before the caller is authenticated, and can turn one
// byte into a dozen. Calls with such messages authenticate first and limit the size.
#ifndef CORANK_SERVER_RPC_SMALL_MESSAGE_H_
#define CORANK_SERVER_RPC_SMALL_MESSAGE_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank {

/// INVALID_ARGUMENT if the bytes are not a message of its type or exceed 64 KiB; CANCELLED if the message is
/// incomplete.
absl::Status ParseSmall(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer SmallBytes(const google::protobuf::Message& message);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_SMALL_MESSAGE_H_
