// What nghttp2 tells a connection of its calls, and what it is told.
#include <algorithm>
#include <array>
#include <forward_list>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/wire/connection.h"

namespace corank::wire {
namespace {

// Longest DATA frame to a peer that takes longer ones than HTTP/2's default.
constexpr int64_t kFrameBytes = 256 << 10;
constexpr int kEarlyPings = 2;
// A caller whose deadlines pass resets calls in a burst. Answers earn it more.
constexpr double kResetsPerSecond = 1000;
// A head of more than so many times the most bytes gets a reset in place of a reason.
constexpr size_t kHeadsBeforeReset = 8;
// Callers with a shorter timeout reset calls as fast as those without one.
constexpr std::chrono::milliseconds kLeastTimeout(2);

nghttp2_nv Pair(absl::string_view name, absl::string_view value, uint8_t flags) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), flags};
}

absl::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace

StreamCall* Connection::Find(int32_t stream) {
  return static_cast<StreamCall*>(nghttp2_session_get_stream_user_data(session_, stream));
}

int Connection::OnBeginFrame(nghttp2_session* session, const nghttp2_frame_hd* head, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  connection.data_stream_ = 0;
  connection.data_left_ = 0;
  if (head->type == NGHTTP2_DATA && (head->flags & NGHTTP2_FLAG_PADDED) == 0) {
    connection.data_left_ = head->length;
  }
  if (head->type != NGHTTP2_HEADERS) return 0;
  if (head->stream_id > connection.last_stream_) {
    connection.last_stream_ = head->stream_id;
  } else if (connection.Find(head->stream_id) == nullptr) {
    // nghttp2 ignores them, as trailers that crossed the end of a call; but gRPC's callers send no trailers.
    nghttp2_session_terminate_session(session, NGHTTP2_STREAM_CLOSED);
  }
  return 0;
}

int Connection::OnBeginHeaders(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  auto& connection = *static_cast<Connection*>(self);
  const int32_t stream = frame->hd.stream_id;
  auto call = std::make_shared<StreamCall>(connection.environment_.loop, &connection, stream, connection.peer_);
  call->head_.arrival = connection.came_;
  nghttp2_session_set_stream_user_data(session, stream, call.get());
  connection.head_ = call.get();
  connection.calls_.emplace(stream, std::move(call));
  return 0;
}

int Connection::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                         const uint8_t* value, size_t value_size, uint8_t, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  const bool is_head = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  StreamCall* const call = is_head ? connection.head_ : connection.Find(frame->hd.stream_id);
  if (call == nullptr) return 0;
  if (is_head) {
    connection.AddHeader(call, View(name, name_size), View(value, value_size));
  } else {
    call->head_bytes_ += name_size + value_size;  // trailers, which mean nothing
  }
  // nghttp2 looks at each byte of what it hands over, and a frame may repeat a long field 16,000 times: seconds of its
  // loop for one read. After a reset, it hands over none of the rest.
  const bool is_bomb = call->head_bytes_ / kHeadsBeforeReset > connection.limits_.max_header_bytes;
  return is_bomb ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

void Connection::AddHeader(StreamCall* call, absl::string_view name, absl::string_view value) {
  constexpr size_t kEntryBytes = 32;  // as HTTP/2 counts
  const bool is_refused = call->head_bytes_ > limits_.max_header_bytes;
  // Values that commas join become entries of their own, each with a copy of the name.
  const auto entries = static_cast<size_t>(1 + (IsBinary(name) ? std::count(value.begin(), value.end(), ',') : 0));
  call->head_bytes_ += value.size() + entries * (name.size() + kEntryBytes);
  if (is_refused) return;
  if (call->head_bytes_ > limits_.max_header_bytes) {
    call->refusal_ = {kResourceExhausted,
                      absl::StrCat("the call's metadata have more than ", limits_.max_header_bytes, " bytes"), ""};
    return;
  }
  if (name == ":path") {
    call->head_.path = std::string(value);
  } else if (name == ":method") {
    if (value != "POST") call->http_status_ = 405;
  } else if (name == "content-type") {
    call->has_content_type_ = absl::StartsWith(value, "application/grpc");
  } else if (name == "grpc-timeout") {
    const std::optional<std::chrono::nanoseconds> timeout = ParseTimeout(value);
    if (timeout) {
      // The caller's clock runs while its bytes wait for a busy loop.
      call->head_.deadline = came_ + *timeout;
    } else {
      call->refusal_ = {kInvalidArgument, "grpc-timeout is not a number of up to eight digits with a unit", ""};
    }
  } else if (name.empty() || name[0] == ':' || name == "te" || name == "grpc-accept-encoding" ||
             name == "grpc-encoding") {
    // Of the transport.
  } else if (!IsBinary(name)) {
    call->head_.metadata.Add(name, value);
  } else if (const auto values = DecodeBinary(value)) {
    for (const std::string& bytes : *values) call->head_.metadata.Add(name, bytes);
  } else {
    call->refusal_ = {kInvalidArgument, absl::StrCat("the value of ", name, " is not base64"), ""};
  }
}

void Connection::BeginCall(StreamCall* call, bool half_closed) {
  const std::shared_ptr<StreamCall> kept = call->shared_from_this();
  last_call_ = loop_.now();
  call->half_closed_ = half_closed;
  if (call->http_status_ == 200 && !call->has_content_type_) call->http_status_ = 415;
  if (call->http_status_ != 200) {
    if (half_closed) AnswerOther(call);
    return;  // otherwise once its body has come, in which HTTP/2 may find faults
  }
  if (call->refusal_) return call->End(*call->refusal_, {}, std::nullopt);
  call->handler_ = (*environment_.router)(kept);
  if (call->handler_ == nullptr) {
    return call->End({kUnimplemented, absl::StrCat("this server has no method ", call->head_.path), ""}, {},
                     std::nullopt);
  }
  call->open_ = environment_.open_calls;
  ++*call->open_;
  if (call->is_finished_) return;
  if (call->head_.deadline != kForever) {
    call->deadline_ = loop_.At(call->head_.deadline, [kept] { kept->PassDeadline(); });
  }
  if (call->wants_message_) call->TakeHeld();
}

void Connection::EndMessages(StreamCall* call) {
  if (call->http_status_ != 200) return AnswerOther(call);
  call->TakeHalfClose();
}

int Connection::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  connection.has_begun_ = true;
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
      if (StreamCall* const call = connection.Find(frame->hd.stream_id)) {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          connection.BeginCall(call, ends);
        } else if (ends) {
          connection.EndMessages(call);
        }
      }
      break;
    case NGHTTP2_DATA:
      if (!ends) break;
      if (StreamCall* const call = connection.Find(frame->hd.stream_id)) connection.EndMessages(call);
      break;
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        connection.pinged_ = false;
      } else {
        connection.TakePing();
      }
      break;
    case NGHTTP2_RST_STREAM:
      connection.TakeReset(connection.Find(frame->hd.stream_id));
      break;
    default:
      break;
  }
  return 0;
}

int Connection::OnData(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                       void* self) {
  auto& connection = *static_cast<Connection*>(self);
  connection.data_stream_ = stream;
  connection.data_left_ -= std::min(connection.data_left_, size);
  // The connection's window is for all calls: one that is not read must not stop the others.
  nghttp2_session_consume_connection(session, size);
  size_t taken = size;
  if (StreamCall* const call = connection.Find(stream)) taken = call->Take(View(data, size));
  if (taken > 0) nghttp2_session_consume_stream(session, stream, taken);
  return 0;
}

int Connection::OnStreamClose(nghttp2_session* session, int32_t stream, uint32_t error, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  if (nghttp2_session_get_stream_remote_close(session, stream) == 1) {
    connection.ended_by_peer_[connection.ended_count_++ % kRecentStreams] = stream;
  }
  const auto found = connection.calls_.find(stream);
  if (found == connection.calls_.end()) return 0;
  const std::shared_ptr<StreamCall> call = std::move(found->second);
  connection.calls_.erase(found);
  if (connection.head_ == call.get()) connection.head_ = nullptr;
  connection.last_call_ = connection.loop_.now();
  if (call->is_answered_) {
    call->Done({});  // most calls: their handlers need no reason
  } else {
    call->Done({kCancelled, absl::StrCat("the caller ended the call: ", nghttp2_http2_strerror(error)), ""});
  }
  return 0;
}

// A peer that sends data on a stream that it has ended hears of it (RFC 9113, 5.1): once a stream, so that a flood of
// such frames makes no flood of answers. Data on streams that only the server has reset were on their way.
void Connection::AnswerLateData(int32_t stream) {
  const auto found = std::find(ended_by_peer_.begin(), ended_by_peer_.end(), stream);
  if (found == ended_by_peer_.end()) return;
  *found = 0;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_STREAM_CLOSED);
}

void Connection::TakePing() {
  const bool is_early = last_ping_ != Instant() && loop_.now() - last_ping_ < limits_.min_ping_interval;
  last_ping_ = loop_.now();
  if (!is_early || ++early_pings_ <= kEarlyPings) return;
  constexpr absl::string_view kReason = "too_many_pings";  // as gRPC's clients know it
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_ENHANCE_YOUR_CALM, reinterpret_cast<const uint8_t*>(kReason.data()), kReason.size());
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Connection::TakeReset(const StreamCall* call) {
  if (call != nullptr && call->head_.deadline - call->head_.arrival >= kLeastTimeout) {
    // A caller whose deadline has passed gives up, and had to wait for that: no flood, as long as it reads.
    if (output_.empty() && IsShortBefore(call->head_.deadline, call->head_.arrival, came_)) return;
    // Bytes of an overloaded host come late, the head and the reset together. A refusal would have been free.
    if (call->is_finished_ && call->status_.code == kDeadlineExceeded) return;
  }
  const double seconds = std::chrono::duration<double>(loop_.now() - resets_counted_).count();
  resets_counted_ = loop_.now();
  resets_left_ = std::min(Connection::kMostResets, resets_left_ + seconds * kResetsPerSecond) - 1;
  if (resets_left_ < 0) nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Connection::Consume(int32_t stream, size_t bytes) {
  if (session_ == nullptr || bytes == 0) return;
  nghttp2_session_consume_stream(session_, stream, bytes);
  FlushSoon();
}

void Connection::AllowUnread(StreamCall* call, int32_t bytes) {
  if (session_ == nullptr || bytes <= call->unread_) return;
  call->unread_ = bytes;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, call->stream_, bytes);
  AllowLongFrames();
  FlushSoon();
}

// --- Answers --------------------------------------------------------------------------------------------------------

// Headers of a call, as nghttp2 takes them. Borrows what it is given, but for the base64 that it makes.
class Connection::Headers {
 public:
  /// name: a literal. value: one of a few, which HPACK's table can hold. Refusals of a flood are alike.
  void Add(absl::string_view name, absl::string_view value) {
    pairs_.push_back(Pair(name, value, NGHTTP2_NV_FLAG_NO_COPY_NAME));
  }
  /// value: differs from call to call, as ids do. In HPACK's table it would drive out the others, and nghttp2 compares
  /// each value with all that the table has for its name.
  void AddUnique(absl::string_view name, absl::string_view value) {
    pairs_.push_back(Pair(name, value, NGHTTP2_NV_FLAG_NO_INDEX));
  }
  void Add(const Metadata& metadata) {
    for (const auto& [name, value] : metadata.entries()) {
      AddUnique(name, IsBinary(name) ? absl::string_view(encoded_.emplace_front(EncodeBinary(value))) : value);
    }
  }
  const nghttp2_nv* data() const { return pairs_.data(); }
  size_t size() const { return pairs_.size(); }

 private:
  absl::InlinedVector<nghttp2_nv, 8> pairs_;
  std::forward_list<std::string> encoded_;
};

void Connection::Send(StreamCall* call) {
  if (session_ == nullptr) return;
  FlushSoon();
  if (std::exchange(call->headers_sent_, true)) {
    nghttp2_session_resume_data(session_, call->stream_);
    return;
  }
  Headers headers;
  const std::string http_status = absl::StrCat(call->http_status_);
  headers.Add(":status", http_status);
  headers.Add("content-type", "application/grpc");
  headers.Add(call->initial_);
  if (call->is_finished_ && call->outgoing_.empty()) return SubmitStatus(call, &headers);
  nghttp2_data_provider provider{};
  provider.read_callback = ReadOutgoing;
  nghttp2_submit_response(session_, call->stream_, headers.data(), headers.size(), &provider);
}

// For browsers and other programs that do not speak gRPC.
void Connection::AnswerOther(StreamCall* call) {
  static const std::string text = "This port speaks gRPC: POST with content-type application/grpc.\n";
  call->is_finished_ = true;
  call->headers_sent_ = true;
  const std::string status = absl::StrCat(call->http_status_);
  Headers headers;
  headers.Add(":status", status);
  headers.Add("content-type", "text/plain");
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* to, size_t size, uint32_t* flags,
                              nghttp2_data_source* source, void*) {
    const size_t count = text.copy(reinterpret_cast<char*>(to), size, static_cast<size_t>(source->fd));
    source->fd += static_cast<int>(count);  // how much was sent
    if (static_cast<size_t>(source->fd) == text.size()) *flags = NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  };
  nghttp2_submit_response(session_, call->stream_, headers.data(), headers.size(), &provider);
  FlushSoon();
}

void Connection::SubmitStatus(StreamCall* call, Headers* headers) {
  const bool is_head = headers->size() > 0;
  const CallStatus& status = call->status_;
  const std::string code = absl::StrCat(status.code);
  headers->Add("grpc-status", code);
  if (!status.message.empty()) headers->Add("grpc-message", message_.TextOf(status.message));
  if (!status.details.empty()) headers->Add("grpc-status-details-bin", details_.TextOf(status.details));
  headers->Add(call->trailers_);
  if (is_head) {
    nghttp2_submit_response(session_, call->stream_, headers->data(), headers->size(), nullptr);
  } else {
    nghttp2_submit_trailer(session_, call->stream_, headers->data(), headers->size());
  }
}

ssize_t Connection::OutgoingLength(nghttp2_session*, uint8_t, int32_t, int32_t session_window, int32_t stream_window,
                                   uint32_t frame_size, void*) {
  return std::min({static_cast<int64_t>(session_window), static_cast<int64_t>(stream_window),
                   static_cast<int64_t>(frame_size), kFrameBytes});
}

ssize_t Connection::ReadOutgoing(nghttp2_session*, int32_t stream, uint8_t*, size_t size, uint32_t* flags,
                                 nghttp2_data_source*, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  StreamCall* const call = connection.Find(stream);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const size_t count = std::min(size, call->outgoing_bytes_);
  if (count == 0 && !call->is_finished_) return NGHTTP2_ERR_DEFERRED;
  *flags = NGHTTP2_DATA_FLAG_NO_COPY;
  if (count == call->outgoing_bytes_ && call->is_finished_) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    Headers headers;
    connection.SubmitStatus(call, &headers);
  }
  return static_cast<ssize_t>(count);
}

int Connection::SendOutgoing(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t size,
                             nghttp2_data_source*, void* self) {
  constexpr size_t kFrameHeadBytes = 9;
  auto& connection = *static_cast<Connection*>(self);
  StreamCall* const call = connection.Find(frame->hd.stream_id);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  connection.output_.Copy(head, kFrameHeadBytes);
  call->TakeProgress(size);
  call->outgoing_bytes_ -= size;
  while (size > 0) {
    StreamCall::Outgoing& outgoing = call->outgoing_.front();
    const Piece& piece = outgoing.bytes.pieces()[outgoing.piece];
    const size_t count = std::min(size, piece.size - outgoing.offset);
    connection.output_.Append(piece.owner, piece.data + outgoing.offset, count);
    outgoing.offset += count;
    size -= count;
    if (outgoing.offset < piece.size) continue;
    outgoing.offset = 0;
    if (++outgoing.piece < outgoing.bytes.pieces().size()) continue;
    if (outgoing.is_written) connection.written_.push_back(call->shared_from_this());
    call->outgoing_.pop_front();
  }
  return 0;
}

int Connection::OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  auto& connection = *static_cast<Connection*>(self);
  const uint8_t type = frame->hd.type;
  if (type != NGHTTP2_DATA && type != NGHTTP2_HEADERS) return 0;
  // As gRPC counts: a peer that is sent something may ping.
  connection.early_pings_ = 0;
  connection.last_ping_ = {};
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (ends) connection.resets_left_ = std::min(Connection::kMostResets, connection.resets_left_ + 1);
  if (ends && nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
  }
  return 0;
}

}  // namespace corank::wire
