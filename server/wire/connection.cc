#include "server/wire/connection.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace corank::wire {
namespace {

// Bytes that are queued for the socket before nghttp2 is asked for more frames.
constexpr size_t kMostOutput = size_t{1} << 20;
constexpr int kEntriesAtOnce = 64;
constexpr size_t kLongRoom = size_t{64} << 10, kAfterLongRoom = size_t{16} << 10;
constexpr size_t kTlsRecordBytes = 16 << 10;
constexpr std::chrono::milliseconds kLookInterval = std::chrono::seconds(1);
// Longest DATA frame of callers that send long messages: the longer, the more of it is read at a time.
constexpr uint32_t kLongFrameBytes = 1 << 20;
// An answer counts as unread once the server could send nothing of it for this long.
constexpr std::chrono::milliseconds kUnread = std::chrono::milliseconds(500);
// Callers that want to read their answers open larger windows than this.
constexpr size_t kLeastWindow = 16 << 10;
// From the notice that a connection takes no more calls to the refusal of those that crossed it.
constexpr std::chrono::milliseconds kCrossing = std::chrono::milliseconds(500);

// Floods. Whoever exceeds one of these is cut off.
constexpr size_t kMostAcknowledgements = 100;  // of pings and settings, unsent
constexpr size_t kMostSettings = 32;           // in a frame
constexpr size_t kMostContinuations = 8;       // of a head
constexpr uint64_t kNoLimit = uint64_t{1} << 40;

nghttp2_option* MakeOptions() {
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  // Otherwise data after the peer's own reset end the connection, and its other calls with it. AnswerLateData answers.
  nghttp2_option_set_no_closed_streams(options, 1);
  // Windows are opened when bytes have found their place, not when they arrive.
  nghttp2_option_set_no_auto_window_update(options, 1);
  // Blanks at the ends of a value are the caller's matter: an error that names them helps more than a reset.
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1);
  nghttp2_option_set_max_outbound_ack(options, kMostAcknowledgements);
  nghttp2_option_set_max_settings(options, kMostSettings);
  nghttp2_option_set_max_continuations(options, kMostContinuations);
  // TakeReset has the limit: this one would cut off callers whose deadlines pass while the server is overloaded.
  nghttp2_option_set_stream_reset_rate_limit(options, kNoLimit, kNoLimit);
  return options;
}

// A time that differs from call to call by a tenth, so that connections that began together do not end together.
std::chrono::milliseconds Jittered(std::chrono::milliseconds time) {
  thread_local std::minstd_rand random(std::random_device{}());
  return time * std::uniform_int_distribution<int>(90, 110)(random) / 100;
}

CallStatus Idle(absl::string_view what, std::chrono::milliseconds timeout) {
  return {kDeadlineExceeded,
          absl::StrCat("the caller has ", what, " nothing for ", absl::FormatDuration(absl::FromChrono(timeout))), ""};
}

}  // namespace

nghttp2_session_callbacks* Connection::Callbacks() {
  static nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    nghttp2_session_callbacks_set_on_begin_frame_callback(made, OnBeginFrame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, OnFrameSent);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, OnStreamClose);
    nghttp2_session_callbacks_set_data_source_read_length_callback(made, OutgoingLength);
    nghttp2_session_callbacks_set_send_data_callback(made, SendOutgoing);
    return made;
  }();
  return callbacks;
}

Connection::Connection(Environment environment, int fd, std::string peer)
    : environment_(std::move(environment)),
      loop_(*environment_.loop),
      limits_(*environment_.limits),
      fd_(fd),
      peer_(std::make_shared<Peer>()),
      events_(EPOLLIN),
      began_(loop_.now()),
      last_heard_(began_),
      last_call_(began_),
      resets_counted_(began_),
      output_progress_(began_),
      look_(loop_.NoTimer()) {
  peer_->address = std::move(peer);
  if (environment_.tls != nullptr) tls_ = std::make_unique<TlsStream>(*environment_.tls, fd);
  if (limits_.max_age.count() > 0) ends_ = began_ + Jittered(limits_.max_age);
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
  nghttp2_session_del(session_);
}

void Connection::Start() {
  static nghttp2_option* const options = MakeOptions();
  nghttp2_session_server_new2(&session_, Callbacks(), this, options);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kUnreadBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits_.max_header_bytes)},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, limits_.connection_window);
  loop_.Watch(fd_, events_, this);
  look_ = loop_.At(began_ + kLookInterval, [this] { Look(); });
  if (tls_ == nullptr) Flush();
}

// --- The socket -----------------------------------------------------------------------------------------------------

void Connection::OnReady(uint32_t events) {
  if (fd_ < 0) return;
  const std::shared_ptr<Connection> kept = shared_from_this();
  if (tls_ != nullptr && !tls_->is_done()) {
    Handshake();
    if (fd_ < 0 || !tls_->is_done()) return;
  }
  // What is not read now is ready in the next round too.
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0 && loop_.MayRead()) Receive();
  if ((events & EPOLLOUT) != 0 && fd_ >= 0) Flush();
}

void Connection::Handshake() {
  const int result = tls_->Handshake();
  if (result < 0) {
    if (*environment_.on_failed_handshake) (*environment_.on_failed_handshake)(*peer_);
    return Close();
  }
  if (result == 0) {
    const uint32_t events = tls_->wants_write() ? EPOLLOUT : EPOLLIN;
    if (events != events_) loop_.Change(fd_, events_ = events, this);
    return;
  }
  if (!tls_->IsHttp2()) return Close();
  tls_->Name(peer_.get());
  if (events_ != EPOLLIN) loop_.Change(fd_, events_ = EPOLLIN, this);
  Flush();
}

void Connection::Receive() {
  // Other sockets have their turn after one read, or as many records of TLS as that could take. What TLS has decrypted
  // wakes nobody.
  int records = static_cast<int>(Loop::kBufferBytes / kTlsRecordBytes);
  do {
    absl::Span<char> room, rest;
    came_ = arrivals_.CameSince(loop_.came_since());
    const ssize_t read = ReadSome(&room, &rest);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0 && errno == EAGAIN) break;
    if (read <= 0) return Close();
    last_heard_ = loop_.now();
    const auto count = static_cast<size_t>(read);
    NoteArrivals(count, count < room.size() + rest.size());
    const size_t direct = std::min(count, room.size());
    if (is_lingering_) continue;
    if (direct > 0 && !Feed({room.data(), direct})) return Close();
    if (count > direct && !Feed({rest.data(), count - direct})) return Close();
  } while (tls_ != nullptr && (--records > 0 || tls_->has_decrypted()));
  Flush();
}

void Connection::NoteArrivals(size_t read, bool is_all) {
  if (tls_ != nullptr) {
    if (tls_->has_decrypted()) return;  // a record comes as a whole
    read = tls_->TakeReceived();
    is_all = false;
  }
  int left = 0;
  if (!is_all && ioctl(fd_, FIONREAD, &left) != 0) left = 0;
  arrivals_.Take(read, static_cast<size_t>(left), std::chrono::steady_clock::now());
}

ssize_t Connection::ReadSome(absl::Span<char>* room, absl::Span<char>* rest) {
  *rest = {loop_.buffer(), Loop::kBufferBytes};
  if (data_left_ > 0 && data_stream_ != 0) {
    if (StreamCall* const call = Find(data_stream_)) *room = call->RoomFor(data_left_);
  }
  if (tls_ != nullptr) {
    if (!room->empty()) *rest = {};
    const absl::Span<char> to = room->empty() ? *rest : *room;
    return tls_->Read(to.data(), to.size());
  }
  if (room->empty()) return recv(fd_, rest->data(), rest->size(), 0);
  // Enough for the head of the next frame, so that most of that is read to its place too.
  if (room->size() >= kLongRoom) *rest = rest->subspan(0, kAfterLongRoom);
  const std::array<iovec, 2> entries = {{{room->data(), room->size()}, {rest->data(), rest->size()}}};
  return readv(fd_, entries.data(), entries.size());
}

bool Connection::Feed(absl::string_view bytes) {
  const size_t left = data_left_;
  const auto give = [&](size_t count) {
    const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
    bytes.remove_prefix(count);
    return nghttp2_session_mem_recv(session_, data, count) >= 0;
  };
  for (size_t passed = 0; passed < bytes.size();) {
    int32_t stream = 0;
    passed += frame_heads_.TakeToData(bytes.substr(passed), &stream);
    if (stream == 0) break;
    // What nghttp2 makes of the frame, it decides with the last byte of its head.
    if (!give(passed - 1)) return false;
    passed = 1;
    AnswerLateData(stream);
  }
  if (!give(bytes.size())) return false;
  // nghttp2 drops the rest of a frame of a call that it resets, and does not tell. What follows must not be read into
  // the call's memory: it may be what ends the call.
  if (data_left_ == left) data_stream_ = 0;
  return true;
}

void Connection::FlushSoon() {
  if (std::exchange(flush_is_due_, true)) return;
  loop_.AtEndOfRound([self = shared_from_this()] {
    if (self->flush_is_due_) self->Flush();
  });
}

void Connection::AllowLongFrames() {
  if (std::exchange(allows_long_frames_, true)) return;
  const nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kLongFrameBytes};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
}

void Connection::Flush() {
  flush_is_due_ = false;
  if (fd_ < 0 || is_lingering_) return;
  if (tls_ != nullptr && !tls_->is_done()) return;
  const std::shared_ptr<Connection> kept = shared_from_this();
  bool has_more = false;
  do {
    while (output_.size() < kMostOutput) {
      const uint8_t* data = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_, &data);
      if (count < 0) return Close();
      if (count > 0) {
        output_.Copy(data, static_cast<size_t>(count));
        continue;
      }
      if (written_.empty()) break;
      for (const std::shared_ptr<StreamCall>& call : std::exchange(written_, {})) {
        if (call->handler_ != nullptr && !call->is_cancelled_) call->handler_->OnWritten();
      }
    }
    has_more = output_.size() >= kMostOutput;
    if (!WriteOut()) return Close();
  } while (has_more && output_.empty());
  if (output_.empty() && nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) {
    return Linger();
  }
  const uint32_t events = output_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  if (events != events_) loop_.Change(fd_, events_ = events, this);
}

bool Connection::WriteOut() {
  while (!output_.empty()) {
    std::array<iovec, kEntriesAtOnce> entries;
    const int count = output_.Gather(entries.data(), kEntriesAtOnce);
    ssize_t written = 0;
    if (tls_ != nullptr) {
      std::array<char, kTlsRecordBytes> record;
      size_t size = 0;
      for (int i = 0; i < count && size < record.size(); ++i) {
        const size_t part = std::min(entries[i].iov_len, record.size() - size);
        std::copy_n(static_cast<const char*>(entries[i].iov_base), part, record.data() + size);
        size += part;
      }
      written = tls_->Write(record.data(), size);
    } else {
      msghdr message{};
      message.msg_iov = entries.data();
      message.msg_iovlen = static_cast<size_t>(count);
      written = sendmsg(fd_, &message, MSG_NOSIGNAL);
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return true;
    if (written <= 0) return false;
    output_progress_ = loop_.now();
    output_.Drop(static_cast<size_t>(written));
  }
  return true;
}

// --- Times ----------------------------------------------------------------------------------------------------------

void Connection::Look() {
  const std::shared_ptr<Connection> kept = shared_from_this();
  const Instant now = loop_.now();
  look_ = loop_.NoTimer();
  if (!has_begun_ && now - began_ >= limits_.handshake_timeout) return Close();
  if (is_lingering_) return;
  if (pinged_ && now - pinged_at_ >= limits_.keepalive_timeout) return Close();
  if (is_draining_ && now >= ends_) return Close();
  if (has_begun_ && !is_draining_) {
    if (now >= ends_) {
      ends_ = now + limits_.age_grace;
      Drain();
    } else if (limits_.max_idle.count() > 0 && calls_.empty() && now - last_call_ >= limits_.max_idle) {
      Drain();
    }
  }
  if (has_begun_ && !pinged_ && limits_.keepalive_interval.count() > 0 &&
      now - last_heard_ >= limits_.keepalive_interval) {
    pinged_ = true;
    pinged_at_ = now;
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    FlushSoon();
  }
  CountUnread();
  const CallStatus unread = Idle("taken", limits_.write_timeout), unsent = Idle("sent", limits_.read_timeout);
  if (!output_.empty() && now - output_progress_ >= limits_.write_timeout) return Close(unread);
  const auto calls = calls_;  // ending one may end others
  for (const auto& [stream, call] : calls) {
    if (!call->outgoing_.empty()) {
      // A handler that waits for its caller may say so first, in words that the caller can still take.
      const auto most = limits_.write_timeout * (call->is_finished_ ? 1 : 2);
      if (now - call->progress_ >= most) CutOff(call.get(), unread);
    } else if (call->http_status_ != 200) {
      if (now - call->head_.arrival >= limits_.handshake_timeout) CutOff(call.get(), unsent);
    } else if (call->wants_bytes() && !(call->is_patient_ && call->prefix_bytes_ == 0) &&
               now - call->heard_ >= limits_.read_timeout) {
      call->Refuse(unsent);
    }
  }
  look_ = loop_.At(now + kLookInterval, [this] { Look(); });
}

void Connection::Drain() {
  if (fd_ < 0 || std::exchange(is_draining_, true)) return;
  nghttp2_submit_shutdown_notice(session_);
  FlushSoon();
  loop_.At(loop_.now() + kCrossing, [self = shared_from_this()] {
    if (self->fd_ < 0) return;
    nghttp2_submit_goaway(self->session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(self->session_),
                          NGHTTP2_NO_ERROR, nullptr, 0);
    self->FlushSoon();
  });
}

bool Connection::IsUnread(const StreamCall& call) const {
  if (!call.is_finished_ || call.outgoing_bytes_ == 0) return false;
  const bool is_shut =
      call.sent_bytes_ < kLeastWindow && nghttp2_session_get_stream_remote_window_size(session_, call.stream_) <= 0;
  return is_shut || loop_.now() - call.progress_ >= kUnread;
}

void Connection::CountUnread() {
  int64_t bytes = 0;
  for (const auto& [stream, call] : calls_) {
    if (!IsUnread(*call)) continue;
    bytes += static_cast<int64_t>(call->outgoing_bytes_);
    if (call->debt_ != nullptr) call->debt_->counted += static_cast<int64_t>(call->outgoing_bytes_);
  }
  environment_.unread_answers->Add(bytes - std::exchange(unread_answer_bytes_, bytes));
  for (auto& [tenant, debt] : debts_) {
    const int64_t counted = std::exchange(debt.counted, 0);
    if (counted != debt.bytes) *debt.account += counted - std::exchange(debt.bytes, counted);
  }
}

bool Connection::MustTakeAnswers(StreamCall* call, absl::string_view tenant) {
  if (session_ == nullptr) return false;
  if (!tenant.empty()) {
    if (last_debt_ == nullptr || last_debt_->first != tenant) {
      UnreadAnswers::Debt& debt = debts_[std::string(tenant)];
      if (debt.account == nullptr) debt.account = environment_.unread_answers->Of(tenant);
      last_debt_ = &*debts_.find(tenant);
    }
    call->debt_ = &last_debt_->second;
  }
  // Once in a round, in which most answers leave.
  if (std::exchange(unread_counted_, loop_.now()) != loop_.now()) CountUnread();
  const UnreadAnswers& unread = *environment_.unread_answers;
  return unread.IsTooMuch(unread_answer_bytes_) || (call->debt_ != nullptr && unread.IsTooMuch(*call->debt_->account));
}

void Connection::CutOff(StreamCall* call, CallStatus reason) {
  call->cut_ = std::move(reason);
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call->stream_, NGHTTP2_CANCEL);
  FlushSoon();
}

void Connection::EndCalls(const CallStatus& status) {
  if (fd_ < 0 || session_ == nullptr) return;
  is_draining_ = true;
  const auto calls = calls_;
  for (const auto& [stream, call] : calls) call->Refuse(status);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  FlushSoon();
}

void Connection::Linger() {
  if (std::exchange(is_lingering_, true)) return;
  if (events_ != EPOLLIN) loop_.Change(fd_, events_ = EPOLLIN, this);
  if (!is_draining_) return EndOutput();
  // Peers end a connection that drains, once they need it no more. Envoy would drop the answers that it still holds for
  // slow callers if the server ended it first.
  loop_.At(loop_.now() + limits_.linger_timeout, [self = shared_from_this()] { self->EndOutput(); });
}

void Connection::EndOutput() {
  if (fd_ < 0) return;
  // Closing a socket with input that was not read would take back what was sent.
  if (tls_ != nullptr) tls_->Shutdown();
  shutdown(fd_, SHUT_WR);
  loop_.At(loop_.now() + limits_.linger_timeout, [self = shared_from_this()] { self->Close(); });
}

void Connection::Close(const CallStatus& reason) {
  if (fd_ < 0) return;
  const std::shared_ptr<Connection> kept = shared_from_this();
  loop_.Cancel(std::exchange(look_, loop_.NoTimer()));
  if (!is_lingering_) WriteOut();  // the reason, if it can be told
  loop_.Forget(fd_, kept);
  tls_.reset();
  close(std::exchange(fd_, -1));
  nghttp2_session_del(std::exchange(session_, nullptr));
  for (auto& [stream, call] : std::exchange(calls_, {})) call->Done(reason);
  CountUnread();  // none are left
  environment_.on_end(this);
}

}  // namespace corank::wire
