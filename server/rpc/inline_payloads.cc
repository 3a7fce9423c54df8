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

absl::Status TooLarge(int64_t bytes, const HostPool& pool) {
  return TooLargeField("request", absl::StrCat("its arrays take ", bytes, " bytes of the server's host memory, but ",
                                               "host_pool_bytes is ", pool.max_bytes()));
}

// The piece that is this payload and lies where operands may lie; null: there is none.
const Piece* PieceAt(const ReceivedMessage& message, const PayloadRange& range) {
  int64_t begin = 0;
  for (const Piece& piece : message.bytes.pieces()) {
    if (begin == range.offset) {
      return static_cast<int64_t>(piece.size) == range.bytes && message.IsPinned(piece) ? &piece : nullptr;
    }
    begin += static_cast<int64_t>(piece.size);
    if (begin > range.offset) return nullptr;
  }
  return nullptr;
}

}  // namespace

absl::Status InlinePayloads::Parse(const ReceivedMessage& bytes, HostPool* pool, google::protobuf::Message* message) {
  std::vector<PayloadRange> ranges;
  if (!ParseHeads(bytes.pieces(), message, &ranges)) {
    return InvalidField("request", absl::StrCat("the bytes are not a ", message->GetTypeName(),
                                                " message, or have more parts than the server accepts"));
  }
  return Take(bytes, ranges, /*others=*/{}, pool);
}

absl::StatusOr<std::shared_ptr<void>> InlinePayloads::Place(size_t bytes, HostPool* pool) {
  if (static_cast<int64_t>(bytes) > pool->max_bytes()) return TooLarge(static_cast<int64_t>(bytes), *pool);
  return pool->Take(static_cast<int64_t>(bytes));
}

absl::Status InlinePayloads::Take(const ReceivedMessage& bytes, const std::vector<PayloadRange>& ranges,
                                  const PayloadMap& others, HostPool* pool) {
  int64_t total = 0;  // of what did not come into pinned memory, with the gaps between
  for (const PayloadRange& range : ranges) {
    if (PieceAt(bytes, range) == nullptr) total += RoundUp(range.bytes);
  }
  for (const auto& [holder, payload] : others) total += RoundUp(static_cast<int64_t>(payload.size()));
  char* to = nullptr;
  if (total > 0) {
    CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> buffer, Place(static_cast<size_t>(total), pool));
    to = static_cast<char*>(buffer.get());
    Keep(std::move(buffer), HostPool::BufferBytes(total));
  }
  const MessagePieces pieces = bytes.pieces();
  for (const PayloadRange& range : ranges) {
    if (const Piece* const piece = PieceAt(bytes, range)) {
      Keep(piece->owner, HostPool::BufferBytes(range.bytes));
      Add(range.holder, absl::string_view(piece->data, piece->size));
    } else if (to != nullptr) {
      CopyRange(pieces, range.offset, range.bytes, to);
      Add(range.holder, absl::string_view(to, static_cast<size_t>(range.bytes)));
      to += RoundUp(range.bytes);
    }
  }
  for (const auto& [holder, payload] : others) {
    std::memcpy(to, payload.data(), payload.size());
    Add(holder, absl::string_view(to, payload.size()));
    to += RoundUp(static_cast<int64_t>(payload.size()));
  }
  return absl::OkStatus();
}

}  // namespace corank
