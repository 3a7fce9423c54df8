#include "server/rpc/message_receiver.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Messages up to this size are collected, and so are payloads: copying them costs less than finding them.
constexpr size_t kCollectedBytes = size_t{32} << 10;
// Pieces of heads. The first one is short because its rest, which belongs to a payload, is copied; none is longer than
// the shortest payload that is received apart.
constexpr size_t kFirstHead = size_t{1} << 10, kLongestHead = kCollectedBytes;
constexpr size_t kMostHeadBytes = size_t{8} << 20;  // as ParseHeads
constexpr absl::Duration kRetry = absl::Seconds(1);

constexpr size_t kMostUnread = size_t{4} << 20;

}  // namespace

absl::Status MessagesFill() {
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL,
                    "too many messages are under way or wait: they fill --max-buffered-bytes", kRetry);
}

void AllowMessage(size_t size, wire::Call* call) {
  if (size > static_cast<size_t>(wire::kUnreadBytes))
    call->AllowUnread(static_cast<int32_t>(std::min(size, kMostUnread)));
}

absl::Status SendAhead::Allow(size_t size, wire::Call* call) {
  if (room_.bytes() == 0) {
    room_ = buffered_.Reserve(wire::kUnreadBytes);
    if (!room_) return MessagesFill();
  }
  const auto wanted = static_cast<int64_t>(std::min(size, kMostUnread));
  if (wanted <= room_.bytes()) return absl::OkStatus();
  Budget::Reservation more = buffered_.Reserve(wanted, buffered_.limit() / 2);
  if (!more) return absl::OkStatus();
  room_ = std::move(more);
  AllowMessage(size, call);
  return absl::OkStatus();
}

absl::Status MessageReceiver::Begin(size_t size) {
  message_ = ReceivedMessage();
  left_ = size;
  scanner_.reset();
  head_bytes_ = passing_ = 0;
  payload_.reset();
  if (size > kCollectedBytes) {
    scanner_.emplace(type_, field_, size);
    room_bytes_ = kFirstHead;
    size = kFirstHead;
  }
  return StartPiece(size);
}

absl::Status MessageReceiver::StartPiece(size_t bytes) {
  EndPiece();
  if (bytes == 0) return absl::OkStatus();
  message_.room.push_back(buffered_.Reserve(static_cast<int64_t>(bytes)));
  if (!message_.room.back()) return MessagesFill();
  piece_.reset(new char[bytes]);
  piece_bytes_ = bytes;
  return absl::OkStatus();
}

void MessageReceiver::EndPiece() {
  if (used_ > 0) message_.bytes.Append({piece_, piece_.get(), used_});
  piece_.reset();
  piece_bytes_ = used_ = scanned_ = 0;
}

ReceivedMessage MessageReceiver::Take() {
  EndPiece();
  return std::exchange(message_, ReceivedMessage());
}

absl::Span<char> MessageReceiver::Room() {
  if (payload_ != nullptr) {
    return {static_cast<char*>(payload_.get()) + payload_used_, payload_bytes_ - payload_used_};
  }
  return {piece_.get() + used_, std::min(piece_bytes_ - used_, left_)};
}

void MessageReceiver::Fill(size_t bytes) {
  left_ -= bytes;
  absl::Status status;
  if (payload_ != nullptr) {
    payload_used_ += bytes;
    if (payload_used_ < payload_bytes_) return;
    const char* const data = static_cast<const char*>(payload_.get());
    message_.bytes.Append({std::move(payload_), data, payload_bytes_});
    message_.pinned.push_back(data);
    payload_.reset();
    scanner_->SkipPayload();
  } else {
    used_ += bytes;
    if (!scanner_) return;
    status = Scan();
  }
  if (status.ok() && payload_ == nullptr && left_ > 0 && used_ == piece_bytes_) {
    room_bytes_ = std::min(2 * room_bytes_, kLongestHead);
    status = StartPiece(std::min(left_, passing_ > 0 ? passing_ : room_bytes_));
  }
  if (!status.ok()) on_failure_(status);
}

absl::Status MessageReceiver::Scan() {
  while (scanned_ < used_ && payload_ == nullptr) {
    const size_t rest = used_ - scanned_;
    if (passing_ > 0) {
      const size_t count = std::min(passing_, rest);
      scanned_ += count;
      passing_ -= count;
      if (passing_ == 0) scanner_->SkipPayload();
      continue;
    }
    const size_t taken = scanner_->Take({piece_.get() + scanned_, rest});
    scanned_ += taken;
    head_bytes_ += taken;
    if (head_bytes_ > kMostHeadBytes) {
      return InvalidField("request", absl::StrCat("the bytes are not a ", type_->full_name(),
                                                  " message, or have more parts than the server accepts"));
    }
    if (scanner_->payload_bytes() > 0) CORANK_RETURN_IF_ERROR(BeginPayload());
  }
  return absl::OkStatus();
}

absl::Status MessageReceiver::BeginPayload() {
  const size_t bytes = scanner_->payload_bytes();
  std::shared_ptr<void> memory;
  if (bytes > kCollectedBytes) {
    CORANK_ASSIGN_OR_RETURN(memory, place_(bytes));
  }
  if (memory == nullptr) {
    passing_ = bytes;
    return absl::OkStatus();
  }
  payload_ = std::move(memory);
  payload_bytes_ = bytes;
  payload_used_ = used_ - scanned_;
  std::memcpy(payload_.get(), piece_.get() + scanned_, payload_used_);
  used_ = scanned_;
  EndPiece();
  return absl::OkStatus();
}

}  // namespace corank
