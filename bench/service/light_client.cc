#include "bench/service/light_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace corank::bench {
namespace {

constexpr size_t kPrefixBytes = 5;
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr uint32_t kFrameBytes = 256 << 10;
constexpr int32_t kWindow = 1 << 30;
constexpr size_t kMostQueued = size_t{4} << 20;  // bytes for the socket before nghttp2 is asked for more
constexpr int kEntriesAtOnce = 64;

absl::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

nghttp2_nv Pair(absl::string_view name, absl::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

absl::StatusOr<int> ConnectSocket(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(address, " is no IPv4 address with a port"));
  }
  to.sin_port = htons(static_cast<uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return absl::UnavailableError(absl::StrCat("cannot connect to ", address, ": ", why));
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace

/// A call under way.
struct LightClient::Stream {
  const LightRequest* request = nullptr;
  size_t sent = 0;
  absl::Time start, deadline = absl::InfiniteFuture();
  std::string body;
  std::optional<int> code;
  std::string message, details;
  bool is_given_up = false;
  bool is_open = false;
  int32_t id = 0;
};

/// Bytes on their way to a socket: small ones copied, payloads of requests where they lie.
class LightClient::SendQueue {
 public:
  size_t size() const { return size_; }
  void Copy(absl::string_view bytes) {
    if (pieces_.empty() || !pieces_.back().is_copy || pieces_.back().copy.size() > kMostCopy) {
      pieces_.push_back({true, {}, {}});
    }
    pieces_.back().copy.append(bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void Refer(absl::string_view bytes) {
    if (bytes.size() <= kMostCopy / 4) return Copy(bytes);
    pieces_.push_back({false, {}, bytes});
    size_ += bytes.size();
  }
  /// False: the connection has failed.
  bool Write(int fd) {
    while (size_ > 0) {
      std::array<iovec, kEntriesAtOnce> entries;
      int count = 0;
      for (auto piece = pieces_.begin(); piece != pieces_.end() && count < kEntriesAtOnce; ++piece, ++count) {
        absl::string_view bytes = piece->is_copy ? absl::string_view(piece->copy) : piece->bytes;
        if (count == 0) bytes.remove_prefix(written_);
        entries[static_cast<size_t>(count)] = {const_cast<char*>(bytes.data()), bytes.size()};
      }
      const ssize_t written = writev(fd, entries.data(), count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno == EAGAIN;
      size_ -= static_cast<size_t>(written);
      written_ += static_cast<size_t>(written);
      while (!pieces_.empty() && written_ >= pieces_.front().size()) {
        written_ -= pieces_.front().size();
        pieces_.pop_front();
      }
    }
    return true;
  }

 private:
  static constexpr size_t kMostCopy = size_t{16} << 10;
  struct Piece {
    bool is_copy;
    std::string copy;
    absl::string_view bytes;
    size_t size() const { return is_copy ? copy.size() : bytes.size(); }
  };
  std::deque<Piece> pieces_;
  size_t size_ = 0, written_ = 0;  // written_: of the first piece
};

LightRequest::LightRequest(std::string path, const grpc::ByteBuffer& message) : path_(std::move(path)) {
  const auto size = static_cast<uint32_t>(message.Length());
  framed_.reserve(kPrefixBytes + size);
  framed_.push_back(0);  // not compressed
  for (int shift = 24; shift >= 0; shift -= 8) framed_.push_back(static_cast<char>(size >> shift & 0xff));
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return;
  for (const grpc::Slice& slice : slices) {
    framed_.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
}

/// One HTTP/2 connection.
class LightClient::Connection {
 public:
  Connection(Thread* thread, int fd, std::string authority);
  ~Connection() {
    nghttp2_session_del(session_);
    close(fd_);
  }

  int fd() const { return fd_; }
  /// Sends the call, or keeps it while as many are open as the server takes.
  void Submit(const LightCaller::Call& call, absl::Time start);
  /// Gives up calls whose deadline has passed.
  void Expire(absl::Time now);
  void Receive();
  void Flush();
  void Fail();
  bool has_failed() const { return failed_; }

 private:
  static nghttp2_session_callbacks* Callbacks();
  void SubmitWaiting();
  void Open(const LightCaller::Call& call, absl::Time start);
  // Ends a call that was not sent.
  void GiveUp(const LightCaller::Call& call, absl::Time start);
  Stream* Find(int32_t id) { return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_, id)); }
  void End(Stream* stream, uint32_t error);

  Thread* const thread_;
  const int fd_;
  const std::string authority_;
  nghttp2_session* session_ = nullptr;
  SendQueue queue_;
  // By start, and so by deadline, since the calls of a loop have as much time each.
  std::deque<std::pair<absl::Time, int32_t>> deadlines_;
  std::vector<std::unique_ptr<Stream>> streams_;  // all, with the memory of their answers
  std::vector<Stream*> idle_;
  std::deque<std::pair<LightCaller::Call, absl::Time>> waiting_;  // with their starts
  uint32_t open_ = 0;
  bool wants_write_ = false;
  bool failed_ = false;
};

/// A thread's connections, and its loop.
class LightClient::Thread {
 public:
  Thread() : epoll_(epoll_create1(EPOLL_CLOEXEC)), buffer_(kReadBytes) {}
  ~Thread() {
    connections_.clear();
    close(epoll_);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  void Add(int fd, const std::string& address) {
    connections_.push_back(std::make_unique<Connection>(this, fd, address));
    Watch(EPOLL_CTL_ADD, connections_.back().get(), EPOLLIN);
    connections_.back()->Flush();
  }

  void Loop(LightCaller* caller) {
    caller_ = caller;
    while (true) {
      const absl::Time due = caller_->due();
      if (due == absl::InfinitePast() && open_ == 0) break;
      absl::Time now = absl::Now();
      while (caller_->due() != absl::InfinitePast() && caller_->due() <= now) {
        Connection& connection = *connections_[turn_++ % connections_.size()];
        ++open_;
        connection.Submit(caller_->Next(), now);
        now = absl::Now();
      }
      for (const auto& connection : connections_) {
        connection->Expire(now);
        connection->Flush();
      }
      std::array<epoll_event, kEntriesAtOnce> events;
      const int ready = epoll_wait(epoll_, events.data(), kEntriesAtOnce, Patience());
      for (int i = 0; i < ready; ++i) {
        auto& connection = *static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr);
        if ((events[static_cast<size_t>(i)].events & ~EPOLLOUT) != 0) connection.Receive();
      }
    }
    caller_ = nullptr;
  }

  // --- For Connection.
  std::vector<char>& buffer() { return buffer_; }
  void OnAnswer(const LightAnswer& answer) {
    --open_;
    caller_->OnAnswer(answer);
  }
  void Watch(int operation, Connection* connection, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = connection;
    epoll_ctl(epoll_, operation, connection->fd(), &event);
  }

 private:
  // Milliseconds to wait for the sockets. Below one, the loop spins.
  int Patience() const {
    constexpr int kMost = 5;  // for deadlines
    const absl::Time due = caller_->due();
    if (due == absl::InfinitePast() || due == absl::InfiniteFuture()) return open_ > 0 ? kMost : 0;
    return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(due - absl::Now()), 0, kMost));
  }

  const int epoll_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<Connection>> connections_;
  LightCaller* caller_ = nullptr;
  size_t turn_ = 0;
  int open_ = 0;
};

nghttp2_session_callbacks* LightClient::Connection::Callbacks() {
  static nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    nghttp2_session_callbacks_set_on_header_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                 const uint8_t* value, size_t value_size, uint8_t, void* self) {
          const absl::string_view key = View(name, name_size), text = View(value, value_size);
          Stream* const stream = static_cast<Connection*>(self)->Find(frame->hd.stream_id);
          if (stream == nullptr || key.size() < 11 || key[0] != 'g') return 0;
          int code = 0;
          if (key == "grpc-status" && absl::SimpleAtoi(text, &code)) stream->code = code;
          if (key == "grpc-message") stream->message = std::string(text);
          if (key == "grpc-status-details-bin") absl::Base64Unescape(text, &stream->details);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          if (Stream* const stream = static_cast<Connection*>(self)->Find(id))
            stream->body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        made, [](nghttp2_session*, int32_t id, uint32_t error, void* self) {
          auto& connection = *static_cast<Connection*>(self);
          if (Stream* const stream = connection.Find(id)) connection.End(stream, error);
          return 0;
        });
    nghttp2_session_callbacks_set_data_source_read_length_callback(
        made,
        [](nghttp2_session*, uint8_t, int32_t, int32_t session_window, int32_t stream_window, uint32_t frame_size,
           void*) -> ssize_t {
          return std::min({session_window, stream_window, static_cast<int32_t>(std::min(frame_size, kFrameBytes))});
        });
    nghttp2_session_callbacks_set_send_data_callback(
        made,
        [](nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t size, nghttp2_data_source*, void* self) {
          constexpr size_t kHeadBytes = 9;
          auto& connection = *static_cast<Connection*>(self);
          Stream* const stream = connection.Find(frame->hd.stream_id);
          if (stream == nullptr) return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
          connection.queue_.Copy(View(head, kHeadBytes));
          connection.queue_.Refer(absl::string_view(stream->request->framed()).substr(stream->sent, size));
          stream->sent += size;
          return 0;
        });
    return made;
  }();
  return callbacks;
}

LightClient::Connection::Connection(Thread* thread, int fd, std::string authority)
    : thread_(thread), fd_(fd), authority_(std::move(authority)) {
  nghttp2_session_client_new(&session_, Callbacks(), this);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrameBytes},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
}

void LightClient::Connection::Submit(const LightCaller::Call& call, absl::Time start) {
  waiting_.emplace_back(call, start);
  SubmitWaiting();
}

void LightClient::Connection::SubmitWaiting() {
  while (!waiting_.empty()) {
    if (!failed_ && open_ >= nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)) {
      return;
    }
    const auto [call, start] = waiting_.front();
    waiting_.pop_front();
    Open(call, start);
  }
}

void LightClient::Connection::GiveUp(const LightCaller::Call& call, absl::Time start) {
  grpc::ByteBuffer nothing;
  const grpc::Status status(grpc::StatusCode::DEADLINE_EXCEEDED, "given up by the client");
  thread_->OnAnswer({call.request, status, false, &nothing, start, absl::Now() - start});
}

void LightClient::Connection::Open(const LightCaller::Call& call, absl::Time start) {
  const bool has_deadline = call.deadline != absl::InfiniteDuration();
  const absl::Duration left = start + call.deadline - absl::Now();
  if (left <= absl::ZeroDuration()) return GiveUp(call, start);
  if (idle_.empty()) idle_.push_back(streams_.emplace_back(std::make_unique<Stream>()).get());
  Stream* const stream = idle_.back();
  idle_.pop_back();
  stream->request = call.request;
  stream->start = start;
  const std::string timeout = has_deadline ? absl::StrCat(absl::ToInt64Microseconds(left), "u") : "";
  std::array<nghttp2_nv, 7> headers = {Pair(":method", "POST"),
                                       Pair(":scheme", "http"),
                                       Pair(":path", call.request->path()),
                                       Pair(":authority", authority_),
                                       Pair("content-type", "application/grpc"),
                                       Pair("te", "trailers"),
                                       Pair("grpc-timeout", timeout)};
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session* session, int32_t id, uint8_t*, size_t size, uint32_t* flags,
                              nghttp2_data_source*, void*) -> ssize_t {
    const auto* const sending = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
    if (sending == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t left = sending->request->framed().size() - sending->sent;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY | (left <= size ? NGHTTP2_DATA_FLAG_EOF : 0);
    return static_cast<ssize_t>(std::min(left, size));
  };
  stream->is_open = true;
  ++open_;
  stream->id = failed_ ? -1
                       : nghttp2_submit_request(session_, nullptr, headers.data(),
                                                headers.size() - (has_deadline ? 0 : 1), &provider, stream);
  if (stream->id < 0) return End(stream, NGHTTP2_INTERNAL_ERROR);
  if (has_deadline) deadlines_.emplace_back(start + call.deadline, stream->id);
}

void LightClient::Connection::Expire(absl::Time now) {
  if (failed_) return;
  for (; !waiting_.empty() && waiting_.front().second + waiting_.front().first.deadline <= now; waiting_.pop_front()) {
    GiveUp(waiting_.front().first, waiting_.front().second);
  }
  for (; !deadlines_.empty() && deadlines_.front().first <= now; deadlines_.pop_front()) {
    Stream* const stream = Find(deadlines_.front().second);
    if (stream == nullptr) continue;  // ended
    stream->is_given_up = true;
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
  }
}

void LightClient::Connection::End(Stream* stream, uint32_t error) {
  if (session_ != nullptr && stream->id > 0) nghttp2_session_set_stream_user_data(session_, stream->id, nullptr);
  stream->is_open = false;
  --open_;
  LightAnswer answer;
  answer.request = stream->request;
  answer.start = stream->start;
  answer.elapsed = absl::Now() - stream->start;
  answer.is_of_server = !stream->is_given_up && stream->code.has_value();
  grpc::ByteBuffer message;
  if (stream->is_given_up) {
    answer.status = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "given up by the client");
  } else if (!stream->code) {
    answer.status = grpc::Status(grpc::StatusCode::INTERNAL,
                                 absl::StrCat("the call ended without a status: ", nghttp2_http2_strerror(error)));
  } else if (*stream->code != 0) {
    answer.status = grpc::Status(static_cast<grpc::StatusCode>(*stream->code), stream->message, stream->details);
  } else if (stream->body.size() < kPrefixBytes) {
    answer.status = grpc::Status(grpc::StatusCode::INTERNAL, "the answer has no message");
  } else {
    const grpc::Slice bytes(&stream->body[kPrefixBytes], stream->body.size() - kPrefixBytes, grpc::Slice::STATIC_SLICE);
    message = grpc::ByteBuffer(&bytes, 1);
  }
  answer.message = &message;
  thread_->OnAnswer(answer);
  stream->sent = 0;
  stream->code.reset();
  stream->message.clear();
  stream->details.clear();
  stream->is_given_up = false;
  stream->body.clear();  // keeps its memory
  idle_.push_back(stream);
}

void LightClient::Connection::Receive() {
  if (failed_) return;
  while (true) {
    std::vector<char>& buffer = thread_->buffer();
    const ssize_t read = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0 && errno == EAGAIN) return;
    if (read <= 0) return Fail();
    const auto* const bytes = reinterpret_cast<const uint8_t*>(buffer.data());
    if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(read)) < 0) return Fail();
    if (static_cast<size_t>(read) < buffer.size()) return;
  }
}

void LightClient::Connection::Flush() {
  if (failed_) return;
  SubmitWaiting();
  while (true) {
    while (queue_.size() < kMostQueued) {
      const uint8_t* bytes = nullptr;
      const size_t before = queue_.size();
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size < 0) return Fail();
      if (size > 0) queue_.Copy(View(bytes, static_cast<size_t>(size)));
      if (size == 0 && queue_.size() == before) break;
    }
    const size_t before = queue_.size();
    if (before == 0) break;
    if (!queue_.Write(fd_)) return Fail();
    if (queue_.size() > 0) break;
  }
  if (const bool wants = queue_.size() > 0; wants != wants_write_) {
    wants_write_ = wants;
    thread_->Watch(EPOLL_CTL_MOD, this, EPOLLIN | (wants ? EPOLLOUT : 0U));
  }
}

void LightClient::Connection::Fail() {
  failed_ = true;
  thread_->Watch(EPOLL_CTL_DEL, this, 0);
  for (const auto& stream : streams_) {
    if (stream->is_open) End(stream.get(), NGHTTP2_CONNECT_ERROR);
  }
  SubmitWaiting();  // which fail
}

absl::StatusOr<std::unique_ptr<LightClient>> LightClient::Connect(const std::string& address, int connections,
                                                                  int threads) {
  std::unique_ptr<LightClient> client(new LightClient);
  client->connections_ = connections;
  for (int i = 0; i < std::min(threads, connections); ++i) client->threads_.push_back(std::make_unique<Thread>());
  for (int i = 0; i < connections; ++i) {
    absl::StatusOr<int> fd = ConnectSocket(address);
    if (!fd.ok()) return fd.status();
    client->threads_[static_cast<size_t>(i) % client->threads_.size()]->Add(*fd, address);
  }
  return client;
}

LightClient::~LightClient() = default;

void LightClient::Run(const std::vector<std::unique_ptr<LightCaller>>& callers) {
  std::vector<std::thread> threads;
  for (size_t i = 1; i < threads_.size(); ++i) {
    threads.emplace_back([&, i] { threads_[i]->Loop(callers[i].get()); });
  }
  threads_[0]->Loop(callers[0].get());
  for (std::thread& thread : threads) thread.join();
}

}  // namespace corank::bench
