// One HTTP/2 connection: a socket, perhaps TLS, and nghttp2's session with its calls.
#ifndef CORANK_SERVER_WIRE_CONNECTION_H_
#define CORANK_SERVER_WIRE_CONNECTION_H_

#include <nghttp2/nghttp2.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/wire/arrivals.h"
#include "server/wire/frame_heads.h"
#include "server/wire/loop.h"
#include "server/wire/metadata.h"
#include "server/wire/output.h"
#include "server/wire/stream_call.h"
#include "server/wire/tls.h"
#include "server/wire/unread_answers.h"

namespace corank::wire {

/// Limits for peers, which apply before their messages are looked at.
struct ConnectionLimits {
  /// Concurrent calls of one connection. Further ones are refused, and clients that follow the protocol wait.
  uint32_t max_streams = 256;
  /// Most bytes of a call's metadata, as HTTP/2 counts them: 32 more than its name and value for each entry.
  /// Binary values that commas join are an entry each.
  size_t max_header_bytes = 16 << 10;
  /// Bytes that a caller may have on its way on one connection, over all calls.
  int32_t connection_window = 16 << 20;
  /// From the connection to the end of the TLS handshake and the peer's first frame.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  /// A peer that pings more often, without sending data or having data sent, is cut off.
  std::chrono::milliseconds min_ping_interval = std::chrono::seconds(10);
  /// A peer that was silent for this long is pinged, and cut off if it does not answer within keepalive_timeout.
  std::chrono::milliseconds keepalive_interval = std::chrono::seconds(30);
  std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
  /// A connection without calls ends after this long. 0: never.
  std::chrono::milliseconds max_idle = std::chrono::minutes(10);
  /// A connection older than this, give or take a tenth, takes no more calls, and ends `age_grace` later at the latest.
  /// 0: no limit.
  std::chrono::milliseconds max_age = std::chrono::milliseconds(0);
  std::chrono::milliseconds age_grace = std::chrono::seconds(5);
  /// From the last byte that the server sends to the end of the connection, unless the peer ends it; twice as long if
  /// the connection was drained.
  std::chrono::milliseconds linger_timeout = std::chrono::milliseconds(500);
  /// The connection drops an answer if the caller takes nothing of it for this long. While the handler of the call
  /// still runs, and may end the call with a reason, the connection waits twice as long.
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
  /// Bytes of finished answers that callers leave unread, over all connections. One connection, and all connections of
  /// one tenant, may leave as many as all of them have left over, so that others always find room.
  int64_t max_unread_answer_bytes = int64_t{32} << 20;
  /// A message that is wanted and of which nothing came for this long ends its call.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(60);
};

/// Makes what answers a call, from its head. Called on a loop's thread. Null: there is no such method. The handler may
/// call any method of the call at once.
using Router = std::function<std::shared_ptr<Handler>(const std::shared_ptr<Call>&)>;

/// Belongs to the thread of its loop.
class Connection final : public Watcher, public std::enable_shared_from_this<Connection> {
 public:
  struct Environment {
    std::shared_ptr<Loop> loop;
    const ConnectionLimits* limits;
    const Router* router;
    std::shared_ptr<const TlsContext> tls;  // null: none
    std::function<void(Connection*)> on_end;
    const std::function<void(const Peer&)>* on_failed_handshake;  // of TLS; may be empty
    std::atomic<int>* open_calls;
    UnreadAnswers* unread_answers;  // of all connections
  };

  /// Takes the socket, which does not block.
  Connection(Environment environment, int fd, std::string peer);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Once, after the constructor.
  void Start();
  /// Tells the peer to make further calls elsewhere; running ones go on. The connection ends with the last of them.
  void Drain();
  /// Ends all calls with this status, and the connection once they are gone.
  void EndCalls(const CallStatus& status);
  /// Cancels all calls and closes the socket.
  void Close(const CallStatus& reason = {kCancelled, "the connection ended", ""});

  void OnReady(uint32_t events) override;

  size_t calls() const { return calls_.size(); }

 private:
  friend class StreamCall;

  // --- For StreamCall.
  void Send(StreamCall* call);
  void Consume(int32_t stream, size_t bytes);
  void AllowUnread(StreamCall* call, int32_t bytes);
  bool MustTakeAnswers(StreamCall* call, absl::string_view tenant);

  // --- Callbacks of nghttp2.
  static nghttp2_session_callbacks* Callbacks();
  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* self);
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t flags, void* self);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnData(nghttp2_session*, uint8_t flags, int32_t stream, const uint8_t* data, size_t size, void* self);
  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static ssize_t OutgoingLength(nghttp2_session*, uint8_t type, int32_t stream, int32_t session_window,
                                int32_t stream_window, uint32_t frame_size, void* self);
  static int OnStreamClose(nghttp2_session*, int32_t stream, uint32_t error, void* self);
  static ssize_t ReadOutgoing(nghttp2_session*, int32_t stream, uint8_t*, size_t size, uint32_t* flags,
                              nghttp2_data_source*, void* self);
  static int SendOutgoing(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t size,
                          nghttp2_data_source*, void* self);

  StreamCall* Find(int32_t stream);
  void BeginCall(StreamCall* call, bool half_closed);
  void EndMessages(StreamCall* call);
  void AddHeader(StreamCall* call, absl::string_view name, absl::string_view value);
  void AnswerOther(StreamCall* call);
  class Headers;
  // The status and the trailers, after `headers` if there are any.
  void SubmitStatus(StreamCall* call, Headers* headers);
  void TakePing();
  // Resets that cost the server more than answers would. `call`: null if it has ended.
  void TakeReset(const StreamCall* call);

  void Handshake();
  void Receive();
  // After a read of as many bytes as were asked for, or of all that were there.
  void NoteArrivals(size_t read, bool is_all);
  // Reads into the memory of the message whose DATA frame is under way, and beyond it into the loop's buffer. As read.
  ssize_t ReadSome(absl::Span<char>* room, absl::Span<char>* rest);
  // All is said: waits for the peer to say so too.
  void Linger();
  void EndOutput();
  void CutOff(StreamCall* call, CallStatus reason);
  // Gives nghttp2 what has come.
  bool Feed(absl::string_view bytes);
  // Before nghttp2 has the head of a DATA frame of this stream.
  void AnswerLateData(int32_t stream);
  void Flush();
  // Writes what is queued. False: the connection has failed.
  bool WriteOut();
  void FlushSoon();
  // From now on the peer may send long frames. Until it sends a long message, 16 KiB are enough.
  void AllowLongFrames();
  void Look();
  bool IsUnread(const StreamCall& call) const;
  void CountUnread();

  const Environment environment_;
  Loop& loop_;
  const ConnectionLimits& limits_;
  int fd_;
  std::shared_ptr<Peer> peer_;
  std::unique_ptr<TlsStream> tls_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, std::shared_ptr<StreamCall>> calls_;
  StreamCall* head_ = nullptr;  // the last call whose head began, unless it has ended
  Output output_;
  uint32_t events_;
  std::vector<std::shared_ptr<StreamCall>> written_;  // a message of these has left its queue
  bool flush_is_due_ = false;
  int32_t last_stream_ = 0;
  int32_t data_stream_ = 0;  // of the DATA frame under way, once nghttp2 has handed over some of it
  size_t data_left_ = 0;     // of its bytes
  FrameHeads frame_heads_;
  static constexpr size_t kRecentStreams = 16;
  std::array<int32_t, kRecentStreams> ended_by_peer_ = {};  // the last streams that the peer ended, and that are closed
  size_t ended_count_ = 0;
  bool is_lingering_ = false;
  bool has_begun_ = false;  // the peer's first frame has come
  bool allows_long_frames_ = false;
  bool is_draining_ = false;
  const Instant began_;
  Instant last_heard_, last_call_, last_ping_ = {};
  int early_pings_ = 0;
  static constexpr double kMostResets = 4000;
  double resets_left_ = kMostResets;  // before the peer is cut off
  Instant resets_counted_;
  bool pinged_ = false;
  Instant pinged_at_ = {};
  Instant output_progress_;
  Arrivals arrivals_{began_};
  Instant came_ = began_;            // what is being read has come after this
  int64_t unread_answer_bytes_ = 0;  // as counted last
  Instant unread_counted_ = {};
  std::map<std::string, UnreadAnswers::Debt, std::less<>> debts_;  // by tenant, of the calls that named one
  decltype(debts_)::pointer last_debt_ = nullptr;
  LastEncoded message_{EncodeMessage}, details_{EncodeBinary};  // of failed calls
  Instant ends_ = kForever;                                     // when a connection that is draining is cut off
  Loop::Timer look_;
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_CONNECTION_H_
