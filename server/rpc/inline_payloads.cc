#include "server/rpc/inline_payloads.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Alignment of payloads, enough for elements of every type.
constexpr int64_t kAlignment = 16;

int64_t RoundUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

absl::Status InlinePayloads::Parse(const grpc::ByteBuffer& bytes, HostPool* pool, Helpers* helpers,
                                   google::protobuf::Message* message) {
  std::vector<PayloadRange> ranges;
  if (!ParseHeads(bytes, message, &ranges)) {
    return InvalidField("request", absl::StrCat("the bytes are not a ", message->GetTypeName(),
                                                " message, or have more parts than the server accepts"));
  }
  return Take(bytes, ranges, /*others=*/{}, pool, helpers);
}

absl::Status InlinePayloads::Take(const grpc::ByteBuffer& bytes, const std::vector<PayloadRange>& ranges,
                                  const PayloadMap& others, HostPool* pool, Helpers* helpers) {
  int64_t total = 0;
  for (const PayloadRange& range : ranges) total += RoundUp(range.bytes);
  for (const auto& [holder, payload] : others) total += RoundUp(static_cast<int64_t>(payload.size()));
  if (total == 0) return absl::OkStatus();
  if (total > pool->max_bytes()) {
    return TooLargeField("request", absl::StrCat("its arrays take ", total, " bytes of the server's host memory, but ",
                                                 "host_pool_bytes is ", pool->max_bytes()));
  }
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> buffer, pool->Take(total));
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return absl::InternalError("gRPC returned no bytes");
  char* to = static_cast<char*>(buffer.get());
  Keep(std::move(buffer), HostPool::BufferBytes(total));
  for (const PayloadRange& range : ranges) {
    helpers->CopyRange(slices, range.offset, range.bytes, to);
    Add(range.holder, absl::string_view(to, static_cast<size_t>(range.bytes)));
    to += RoundUp(range.bytes);
  }
  for (const auto& [holder, payload] : others) {
    std::memcpy(to, payload.data(), payload.size());
    Add(holder, absl::string_view(to, payload.size()));
    to += RoundUp(static_cast<int64_t>(payload.size()));
  }
  return absl::OkStatus();
}

}  // namespace corank
