// Converts the library's types to corank.v1 and back.
#ifndef CORANK_CLIENT_CPP_MESSAGES_H_
#define CORANK_CLIENT_CPP_MESSAGES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/null_order.h"
#include "corank/operators.h"
#include "corank/v1/corank_service.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank::client {

v1::SortOrder ToProto(Order order);
v1::NullOrder ToProto(NullOrder nulls);
v1::NanOrder ToProto(NanOrder nans);
v1::SortOutput ToProto(SortOutput output);
v1::RequestOptions ToProto(const CallOptions& options);

/// Sets the type and, for records, their size.
void FillType(ElementType type, v1::Array* array);
/// INTERNAL for a type that this version does not know.
absl::StatusOr<ElementType> TypeFromProto(v1::ElementType type, uint32_t record_bytes);

RequestStats FromProto(const v1::RequestStats& stats);
ServerInfo FromProto(const v1::GetServerInfoResponse& info);

/// Encodes a small message for gRPC.
grpc::ByteBuffer Encode(const google::protobuf::Message& message);
/// Decodes a message and consumes the bytes. INTERNAL if they are not a message of this type.
absl::Status Decode(grpc::ByteBuffer* bytes, google::protobuf::Message* message);

/// INTERNAL: the server broke the contract.
absl::Status MalformedArray(absl::string_view what);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_MESSAGES_H_
