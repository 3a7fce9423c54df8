// One gRPC call on the server's side, between its connection and what answers it.
#ifndef CORANK_SERVER_WIRE_CALL_H_
#define CORANK_SERVER_WIRE_CALL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/call_status.h"
#include "server/base/clock.h"
#include "server/wire/loop.h"
#include "server/wire/metadata.h"

namespace corank::wire {

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

inline constexpr int kCancelled = 1;
inline constexpr int kUnknown = 2;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kResourceExhausted = 8;
inline constexpr int kUnimplemented = 12;
inline constexpr int kInternal = 13;
inline constexpr int kUnavailable = 14;

/// Bytes that a caller may send before they are read, unless Call::AllowUnread says more.
inline constexpr int32_t kUnreadBytes = 256 << 10;

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

/// What answers a call. Its methods run on the thread of the call's loop, one at a time, and must not wait. It must
/// call Call::Finish in any case, also after OnCancel; the call lives until then.
class Handler {
 public:
  virtual ~Handler() = default;
  /// After Call::Read: a message of `size` bytes begins. Returns where its bytes go, valid until OnMessage or OnDone.
  /// Null: the message is not wanted, and the handler has called Finish; or it is not wanted yet, and the next Read
  /// asks again. The sink knows where a message lies in memory before all of it has come, and may ask for less room
  /// than the message is long.
  virtual Sink* OnMessageBegin(size_t size) = 0;
  /// The message is complete.
  virtual void OnMessage() = 0;
  /// After Call::Read: no more messages follow.
  virtual void OnHalfClose() = 0;
  /// The message of the last Call::Write has left the call's queue.
  virtual void OnWritten() {}
  /// The caller or its connection is gone, its deadline has passed, or it keeps to no protocol. `status` says why. At
  /// most once, not after Finish. If the caller is still there, a Finish inside of OnCancel reaches it, and `status`
  /// does otherwise. No message follows.
  virtual void OnCancel(const CallStatus& status) = 0;
  /// The call was finished, and its connection has let go of it. The last thing that is called, once.
  virtual void OnDone() = 0;
};

/// One call. Thread-safe. What is called after the end of the call has no effect.
class Call {
 public:
  virtual ~Call() = default;

  const CallHead& head() const { return head_; }

  /// Asks for the next message, or the end of the messages. One at a time. A caller that sends none of it within
  /// ConnectionLimits::read_timeout is cut off.
  virtual void Read() = 0;
  /// The same, and the caller may take its time until the message begins.
  virtual void ReadWhenever() = 0;
  /// Sends metadata ahead of the first message. Without effect once a message or the status was sent.
  virtual void SendMetadata(Metadata metadata) = 0;
  /// Sends a message. The handler's OnWritten follows; write the next one then.
  virtual void Write(Bytes message) = 0;
  /// Ends the call: `message`, if there is one, then the status, with `trailers` as trailing metadata.
  virtual void Finish(CallStatus status, Metadata trailers = {}, std::optional<Bytes> message = std::nullopt) = 0;
  /// Runs a task on the thread of the call's loop, soon. Not after Finish.
  virtual void Post(Loop::Task task) = 0;
  /// On the thread of the call's loop: Loop::AfterReads.
  virtual Loop::Place AfterReads(size_t bytes, Loop::Task task) = 0;
  /// On the thread of the call's loop: Loop::Withdraw.
  virtual void Withdraw(Loop::Place place) = 0;
  /// On the thread of the call's loop: Loop::Wait.
  virtual std::chrono::nanoseconds Wait() const = 0;
  /// How many bytes the caller may send before they are read. Grows only.
  virtual void AllowUnread(int32_t bytes) = 0;
  /// Ends the call like a deadline, this long after its arrival at the latest. Of the router alone.
  virtual void LimitTime(std::chrono::nanoseconds time) { static_cast<void>(time); }
  /// No further message is read: the server drops what the caller still sends, and holds none of it.
  virtual void DropRest() {}
  /// On the thread of the call's loop: whether the caller's connection or its tenant leaves so many bytes of answers
  /// unread (ConnectionLimits::max_unread_answer_bytes) that the server should make no more answers for it. The answer
  /// of this call counts for `tenant`; empty: for the connection alone.
  virtual bool MustTakeAnswers(absl::string_view tenant) {
    static_cast<void>(tenant);
    return false;
  }

 protected:
  CallHead head_;
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_CALL_H_
