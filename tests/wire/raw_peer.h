// A peer that sends HTTP/2 frames as a test wants them, right or wrong.
#ifndef CORANK_TESTS_WIRE_RAW_PEER_H_
#define CORANK_TESTS_WIRE_RAW_PEER_H_

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank::wire::testing {

struct Frame {
  uint8_t type = 0, flags = 0;
  int32_t stream = 0;
  std::string payload;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

/// The headers of a gRPC call.
Fields CallFields(const std::string& path);

/// The bytes of a frame.
std::string FrameOf(uint8_t type, uint8_t flags, int32_t stream, absl::string_view payload);

/// A gRPC message with its prefix.
std::string Message(absl::string_view bytes);

/// Not thread-safe.
class RawPeer {
 public:
  /// Connects; `greets`: and sends the preface with empty settings; `secures`: with TLS, trusting anybody. `protocol`:
  /// what it then offers by ALPN; empty: nothing.
  explicit RawPeer(int port, bool greets = true, bool secures = false, const std::string& protocol = "h2");
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// False if the server has closed the connection. With TLS, each 16 KiB at most are a record of their own.
  bool Send(absl::string_view bytes);
  bool SendFrame(uint8_t type, uint8_t flags, int32_t stream, absl::string_view payload);
  bool SendHeaders(int32_t stream, const Fields& fields, bool ends = false);
  bool SendData(int32_t stream, absl::string_view bytes, bool ends = false);
  /// Whether the server's socket gets all that was sent within 10 s. The server need not read it.
  bool AwaitDelivery() const;

  /// The next frame; nothing once the connection has ended, or if none comes in time. Frames that answer nothing
  /// (SETTINGS, WINDOW_UPDATE and acknowledgements) are left out unless `all`.
  std::optional<Frame> Read(absl::Duration patience = absl::Seconds(10), bool all = false);
  /// Reads frames of a stream to its end; returns the fields of all its headers. RST_STREAM adds a field ":reset" with
  /// the code, and the end of the connection a field ":end".
  Fields ReadCall(int32_t stream);
  /// Reads until a GOAWAY; returns its code, or nothing if the connection ended or none came in time.
  std::optional<uint32_t> ReadGoaway();
  /// Whether a PING comes, or its acknowledgement.
  bool ReadsPing();
  /// Whether the server acknowledges a PING.
  bool AnswersPing() { return SendFrame(NGHTTP2_PING, 0, 0, "01234567") && ReadsPing(); }
  /// Whether the server closes the connection in this time.
  bool IsClosedWithin(absl::Duration patience);

 private:
  void Secure(const std::string& protocol);
  bool Fill(absl::Duration patience);
  Fields Decode(absl::string_view block);

  int fd_;
  SSL* ssl_ = nullptr;  // null: plaintext
  bool is_closed_ = false;
  std::string received_;
  nghttp2_hd_deflater* deflater_ = nullptr;
  nghttp2_hd_inflater* inflater_ = nullptr;
};

/// The value of the field, or "none".
std::string ValueOf(const Fields& fields, absl::string_view name);

/// Sends a whole call of /test/Echo.
void Ask(RawPeer& peer, int32_t stream, const std::string& message);

}  // namespace corank::wire::testing

#endif  // CORANK_TESTS_WIRE_RAW_PEER_H_
