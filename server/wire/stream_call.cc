#include "server/wire/stream_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/wire/connection.h"

namespace corank::wire {
namespace {

constexpr size_t kPrefixBytes = 5;
// A caller that takes less of its answer makes no progress.
constexpr size_t kLeastProgress = 4 << 10;

std::string Prefix(size_t size) {
  const auto length = static_cast<uint32_t>(size);
  return {'\0', static_cast<char>(length >> 24), static_cast<char>(length >> 16), static_cast<char>(length >> 8),
          static_cast<char>(length)};
}

size_t Length(const char* prefix) {
  size_t length = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  return length;
}

}  // namespace

StreamCall::StreamCall(std::shared_ptr<Loop> loop, Connection* connection, int32_t stream,
                       std::shared_ptr<const Peer> peer)
    : loop_(std::move(loop)),
      connection_(connection),
      stream_(stream),
      deadline_(loop_->NoTimer()),
      progress_(loop_->now()) {
  head_.peer = std::move(peer);
  head_.arrival = heard_ = loop_->now();
}

void StreamCall::Read() {
  loop_->Run([self = shared_from_this()] { self->SetRead(false); });
}

void StreamCall::ReadWhenever() {
  loop_->Run([self = shared_from_this()] { self->SetRead(true); });
}

void StreamCall::SendMetadata(Metadata metadata) {
  loop_->Run([self = shared_from_this(), metadata = std::move(metadata)]() mutable {
    if (self->connection_ == nullptr || self->is_finished_ || self->headers_sent_) return;
    self->initial_ = std::move(metadata);
    self->connection_->Send(self.get());
  });
}

void StreamCall::Write(Bytes message) {
  loop_->Run([self = shared_from_this(), message = std::move(message)]() mutable {
    if (self->connection_ == nullptr || self->is_finished_) return;
    self->Queue(std::move(message), true);
    self->connection_->Send(self.get());
  });
}

void StreamCall::Finish(CallStatus status, Metadata trailers, std::optional<Bytes> message) {
  loop_->Run([self = shared_from_this(), status = std::move(status), trailers = std::move(trailers),
              message = std::move(message)]() mutable {
    self->is_answered_ = true;
    self->End(std::move(status), std::move(trailers), std::move(message));
    // Later, because the handler may hold a lock now.
    if (self->connection_ == nullptr) self->loop_->AtEndOfRound([self] { self->LetGo(); });
  });
}

void StreamCall::AllowUnread(int32_t bytes) {
  loop_->Run([self = shared_from_this(), bytes] {
    if (self->connection_ != nullptr) self->connection_->AllowUnread(self.get(), bytes);
  });
}

void StreamCall::LimitTime(std::chrono::nanoseconds time) {
  head_.deadline = std::min(head_.deadline, head_.arrival + time);
}

void StreamCall::DropRest() {
  loop_->Run([self = shared_from_this()] {
    self->drops_rest_ = true;
    if (self->connection_ != nullptr) self->DropHeld();
  });
}

bool StreamCall::MustTakeAnswers(absl::string_view tenant) {
  return connection_ != nullptr && connection_->MustTakeAnswers(this, tenant);
}

void StreamCall::SetRead(bool is_patient) {
  if (connection_ == nullptr || is_finished_) return;
  wants_message_ = true;
  is_patient_ = is_patient;
  heard_ = loop_->now();
  if (handler_ == nullptr || is_parsing_ || (held_.empty() && !half_closed_))
    return;  // while it is made, BeginCall does
  // Later, because the handler may hold a lock now.
  loop_->AtEndOfRound([self = shared_from_this()] { self->TakeHeld(); });
}

void StreamCall::TakeHeld() {
  if (connection_ == nullptr || is_parsing_) return;
  if (!held_.empty()) {
    std::string held = std::exchange(held_, {});
    const size_t begin = std::exchange(held_taken_, 0);
    const size_t taken = Parse(absl::string_view(held).substr(begin));
    if (connection_ != nullptr) connection_->Consume(stream_, drops_bytes() ? held.size() - begin : taken);
    if (!drops_bytes()) Hold(std::move(held), begin + taken);
  }
  if (!half_closed_ || half_close_told_ || !wants_bytes() || !held_.empty()) return;
  if (prefix_bytes_ != 0) return EndIncomplete();
  half_close_told_ = true;
  wants_message_ = false;
  handler_->OnHalfClose();
}

void StreamCall::Hold(std::string bytes, size_t taken) {
  if (taken == bytes.size()) return;
  // Moving the rest for each of many short messages would take as long as the square of their number.
  if (taken > bytes.size() / 2) bytes.erase(0, std::exchange(taken, 0));
  held_ = std::move(bytes);
  held_taken_ = taken;
}

void StreamCall::DropHeld() {
  const size_t dropped = held_.size() - std::exchange(held_taken_, 0);
  held_ = {};
  connection_->Consume(stream_, dropped);
}

size_t StreamCall::Take(absl::string_view bytes) {
  heard_ = loop_->now();
  if (drops_bytes() || handler_ == nullptr) return bytes.size();
  if (!held_.empty()) {
    // As much as the caller may send; doubling would take twice that.
    if (held_.size() + bytes.size() > held_.capacity()) held_.reserve(static_cast<size_t>(unread_));
    held_.append(bytes.data(), bytes.size());
    return 0;
  }
  const size_t taken = Parse(bytes);
  if (drops_bytes()) return bytes.size();
  held_.append(bytes.data() + taken, bytes.size() - taken);
  return taken;
}

size_t StreamCall::Parse(absl::string_view bytes) {
  is_parsing_ = true;
  size_t taken = 0;
  while (wants_bytes()) {
    if (sink_ == nullptr) {
      const size_t count = std::min(kPrefixBytes - prefix_bytes_, bytes.size() - taken);
      std::memcpy(prefix_ + prefix_bytes_, bytes.data() + taken, count);
      taken += count;
      prefix_bytes_ += count;
      if (prefix_bytes_ < kPrefixBytes) break;
      if (prefix_[0] != 0) {
        Metadata accepted;
        accepted.Add("grpc-accept-encoding", "identity");
        Refuse({kUnimplemented, "the message is compressed; this server accepts no compression", ""},
               std::move(accepted));
        break;
      }
      message_left_ = Length(prefix_);
      sink_ = handler_->OnMessageBegin(message_left_);
      if (sink_ == nullptr) {
        wants_message_ = false;
        break;
      }
    }
    while (message_left_ > 0 && taken < bytes.size()) {
      const absl::Span<char> room = sink_->Room();
      const size_t count = std::min({room.size(), message_left_, bytes.size() - taken});
      // Where the socket was read into the room itself, nothing is left to copy.
      if (room.data() != bytes.data() + taken) std::memcpy(room.data(), bytes.data() + taken, count);
      taken += count;
      message_left_ -= count;
      sink_->Fill(count);
      if (is_finished_) break;
    }
    if (message_left_ > 0 || is_finished_) break;
    prefix_bytes_ = 0;
    sink_ = nullptr;
    wants_message_ = false;
    handler_->OnMessage();  // may ask for the next one
  }
  is_parsing_ = false;
  return taken;
}

void StreamCall::TakeHalfClose() {
  half_closed_ = true;
  if (is_finished_ || handler_ == nullptr) return;
  // A message that is read cannot be completed any more.
  if (prefix_bytes_ != 0 && wants_message_) return EndIncomplete();
  TakeHeld();
}

void StreamCall::EndIncomplete() {
  Refuse({kInternal,
          absl::StrCat("the caller ended its messages in the middle of one, ", message_left_, " bytes before its end"),
          ""});
}

absl::Span<char> StreamCall::RoomFor(size_t most) {
  if (sink_ == nullptr || message_left_ == 0 || !held_.empty() || !wants_bytes() || handler_ == nullptr) return {};
  const absl::Span<char> room = sink_->Room();
  return room.subspan(0, std::min({room.size(), message_left_, most}));
}

void StreamCall::Refuse(CallStatus status, Metadata trailers) {
  // The handler may say more, but not if what it knows nothing of is at fault.
  if (status.code == kUnimplemented) {
    End(status, std::move(trailers), std::nullopt);
    Cancel(status);
  } else {
    Cancel(status);
    End(std::move(status), std::move(trailers), std::nullopt);
  }
}

void StreamCall::Queue(Bytes message, bool is_written) {
  Outgoing outgoing;
  outgoing.bytes = Bytes(Prefix(message.size()));
  for (const Piece& piece : message.pieces()) outgoing.bytes.Append(piece);
  outgoing.is_written = is_written;
  if (outgoing_.empty()) progress_ = loop_->now();
  outgoing_bytes_ += outgoing.bytes.size();
  outgoing_.push_back(std::move(outgoing));
}

void StreamCall::TakeProgress(size_t bytes) {
  sent_bytes_ += bytes;
  progress_bytes_ += bytes;
  if (progress_bytes_ < kLeastProgress) return;
  progress_bytes_ = 0;
  progress_ = loop_->now();
}

void StreamCall::End(CallStatus status, Metadata trailers, std::optional<Bytes> message) {
  if (connection_ == nullptr || is_finished_) return;
  is_finished_ = true;
  progress_ = loop_->now();  // a caller that was slow has time to take the status
  if (message) Queue(*std::move(message), false);
  status_ = std::move(status);
  trailers_ = std::move(trailers);
  // What was not read is not read any more.
  DropHeld();
  connection_->Send(this);
}

void StreamCall::Cancel(const CallStatus& status) {
  if (is_answered_ || std::exchange(is_cancelled_, true)) return;
  if (handler_ != nullptr) handler_->OnCancel(status);
}

void StreamCall::PassDeadline() {
  deadline_ = loop_->NoTimer();
  if (is_finished_) return;  // the answer is on its way
  const CallStatus status = {kDeadlineExceeded, "the deadline passed before the call was answered", ""};
  Cancel(status);
  End(status, {}, std::nullopt);
}

void StreamCall::Done(const CallStatus& status) {
  is_finished_ = true;
  connection_ = nullptr;
  debt_ = nullptr;
  sink_ = nullptr;
  outgoing_.clear();
  outgoing_bytes_ = 0;
  loop_->Cancel(std::exchange(deadline_, loop_->NoTimer()));
  Cancel(cut_.value_or(status));
  LetGo();
}

void StreamCall::LetGo() {
  if (!is_answered_ || connection_ != nullptr || handler_ == nullptr) return;
  {
    const std::shared_ptr<Handler> handler = std::move(handler_);
    handler->OnDone();
  }
  --*open_;
}

}  // namespace corank::wire
