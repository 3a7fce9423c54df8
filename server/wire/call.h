// One gRPC call on the server's side, between its connection and what answers it.
#ifndef CORANK_SERVER_WIRE_CALL_H_
#define CORANK_SERVER_WIRE_CALL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/base/clock.h"
#include "server/base/bytes.h"
#include "server/wire/loop.h"
#include "server/wire/metadata.h"

namespace corank::wire {

class Connection;

/// The other end of a connection.
struct Peer {
  std::string address;
  /// Of the client certificate, if there is one and it was verified: URIs, DNS names and common names.
  bool is_verified = false;
  std::vector<std::string> uris, dns_names, common_names;
};

/// What a call says before its first message.
struct CallHead {
  std::string path;
  Metadata metadata;
  std::shared_ptr<const Peer> peer;
  Instant arrival;
  Instant deadline = kForever;
};

/// How a call ends. The numbers are those of google.rpc.Code.
struct CallStatus {
  int code = 0;
  std::string message;
  /// A serialized google.rpc.Status; empty: none.
  std::string details;
};

inline constexpr int kCancelled = 1;
inline constexpr int kUnknown = 2;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kResourceExhausted = 8;
inline constexpr int kUnimplemented = 12;
inline constexpr int kInternal = 13;
inline constexpr int kUnavailable = 14;

/// Where the bytes of a message go as they arrive.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Memory for the next bytes of the message, one at least.
  virtual absl::Span<char> Room() = 0;
  /// The first `bytes` bytes of the room are filled.
  virtual void Fill(size_t bytes) = 0;
};

/// Collects a message in memory of its own.
class Collector final : public Sink {
 public:
  explicit Collector(size_t size) : bytes_(new char[size]), size_(size) {}
  absl::Span<char> Room() override { return {bytes_.get() + filled_, size_ - filled_}; }
  void Fill(size_t bytes) override { filled_ += bytes; }
  absl::string_view view() const { return {bytes_.get(), filled_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_, filled_ = 0;
};

/// What answers a call. Its methods run on the thread of the call's loop, one at a time, and must not wait.
class Handler {
 public:
  virtual ~Handler() = default;
  /// After Call::Read: a message of `size` bytes begins. Returns where its bytes go, valid until OnMessage or OnDone.
  /// Null: the message is not wanted, and the handler has called Finish.
  virtual Sink* OnMessageBegin(size_t size) = 0;
  /// The message is complete.
  virtual void OnMessage() = 0;
  /// After Call::Read: no more messages follow.
  virtual void OnHalfClose() = 0;
  /// The message of the last Call::Write has left the call's queue.
  virtual void OnWritten() {}
  /// The caller or its connection is gone, or the deadline has passed. `status` says why. At most once, and before
  /// OnDone. Only a call whose deadline has passed can still be answered, by a Finish inside of OnCancel.
  virtual void OnCancel(const CallStatus& status) = 0;
  /// The call is over, and its connection has let go of it. The last thing that is called, once.
  virtual void OnDone() = 0;
};

/// Thread-safe unless a method says otherwise. What is called after the end of the call has no effect.
class Call final : public std::enable_shared_from_this<Call> {
 public:
  Call(Loop* loop, Connection* connection, int32_t stream, std::shared_ptr<const Peer> peer);

  const CallHead& head() const { return head_; }

  /// Asks for the next message, or the end of the messages. One at a time.
  void Read();
  /// Sends metadata ahead of the first message. Without effect once a message or the status was sent.
  void SendMetadata(Metadata metadata);
  /// Sends a message. The handler's OnWritten follows; write the next one then.
  void Write(Bytes message);
  /// Ends the call: `message`, if there is one, then the status, with `trailers` as trailing metadata.
  void Finish(CallStatus status, Metadata trailers = {}, std::optional<Bytes> message = std::nullopt);
  /// How many bytes the caller may send before they are read. 64 KiB at first. Grows only.
  void AllowUnread(int32_t bytes);

 private:
  friend class Connection;

  struct Outgoing {
    Bytes bytes;  // with its prefix
    size_t piece = 0, offset = 0;
    bool is_written = false;  // whether OnWritten follows
  };

  // --- Of the loop's thread; Connection calls these.
  // Takes bytes of messages. Returns how many of them the caller may replace by others now.
  size_t Take(absl::string_view bytes);
  void TakeHalfClose();
  void SetRead();
  // Reads what was held back.
  void TakeHeld();
  size_t Parse(absl::string_view bytes);
  void EndIncomplete();
  void Queue(Bytes message, bool is_written);
  void End(CallStatus status, Metadata trailers, std::optional<Bytes> message);
  void Cancel(const CallStatus& status);
  void PassDeadline();
  // The stream or the connection is gone.
  void Done(const CallStatus& status);
  bool wants_bytes() const { return wants_message_ && !is_finished_; }

  Loop* const loop_;
  Connection* connection_;  // null once the stream is closed
  const int32_t stream_;
  CallHead head_;
  size_t head_bytes_ = 0;
  int http_status_ = 200;
  bool has_content_type_ = false;
  std::optional<CallStatus> refusal_;  // of a head that is not acceptable
  std::shared_ptr<Handler> handler_;
  Loop::Timer deadline_;

  // Received.
  bool wants_message_ = false;
  bool is_parsing_ = false;
  char prefix_[5] = {};
  size_t prefix_bytes_ = 0;
  Sink* sink_ = nullptr;
  size_t message_left_ = 0;  // bytes of the message in sink_ that have not come
  bool half_closed_ = false;
  bool half_close_told_ = false;
  std::string held_;  // came before they were asked for

  // To send.
  std::deque<Outgoing> outgoing_;
  size_t outgoing_bytes_ = 0;
  Instant progress_;  // when bytes left last, or began to wait
  Metadata initial_;
  bool headers_sent_ = false;
  bool is_finished_ = false;
  bool is_cancelled_ = false;
  CallStatus status_;
  Metadata trailers_;
  int32_t unread_ = 65535;
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_CALL_H_
