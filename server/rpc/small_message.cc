#include "server/rpc/small_message.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/slice.h"
#include "server/base/errors.h"

namespace corank {

absl::Status ParseSmall(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  constexpr size_t kMostBytes = 64 << 10;
  if (!bytes.Valid()) return RequestIncomplete("the message is incomplete: the caller or the connection ended");
  if (bytes.Length() > kMostBytes) {
    return TooLargeField("request", absl::StrCat("must have at most ", kMostBytes, " bytes, not ", bytes.Length()));
  }
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return absl::InternalError("gRPC returned no bytes");
  std::string text;
  text.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  if (message->ParseFromString(text)) return absl::OkStatus();
  return InvalidField("request", absl::StrCat("the bytes are not a ", message->GetTypeName(), " message"));
}

grpc::ByteBuffer SmallBytes(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace corank
