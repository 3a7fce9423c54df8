// Options of a Client: address, TLS, token, limits, retries.
#ifndef CORANK_CLIENT_OPTIONS_H_
#define CORANK_CLIENT_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corank/operators.h"

namespace corank::client {

class RetryClock;

/// TLS. The files are PEM; Client::Create reads them once.
struct TlsOptions {
  /// The certificates of the authorities that the client trusts. Empty: those of the system.
  std::string ca_file;
  /// The client's own certificate with its chain, and its key, for servers that ask for one. Set both or neither.
  std::string certificate_file, key_file;
  /// The name that the server's certificate must hold. Empty: the host of the address.
  std::string server_name;
};

/// When the client retries a call that failed.
struct RetryOptions {
  /// False: the client never retries.
  bool enabled = true;
  /// Attempts in all, the first one included; 1 or more.
  int max_attempts = 6;
  /// The wait before attempt n + 1 is a random time from 0 to initial_delay x 2^(n - 1), at most max_delay ("full
  /// jitter"), on top of the time that the server asks for. Both positive.
  absl::Duration initial_delay = absl::Milliseconds(50);
  absl::Duration max_delay = absl::Seconds(5);
  /// The retry budget of a Client, as in gRPC's retry design. Every failed attempt that could be repeated takes one
  /// token from a bucket of `budget_tokens`; every successful call puts `budget_refill` of a token back. The client
  /// retries only while the bucket is more than half full, so clients of a server that refuses everything soon stop
  /// retrying. 0 tokens: no budget.
  double budget_tokens = 20;
  double budget_refill = 0.1;
  /// For the library's own tests. Null: the system's clock.
  std::shared_ptr<RetryClock> clock;
};

/// Options of a Client.
struct ClientOptions {
  /// host:port, or another gRPC target such as unix:/run/corank.sock. The port has no default. Several numeric
  /// addresses with commas take turns call by call, and so do all addresses of dns:///name:port; calls then use one
  /// connection each, and no shared memory unless they ask for it.
  std::string address = "127.0.0.1:50051";
  /// Unset: no TLS.
  std::optional<TlsOptions> tls;
  /// The caller's token, or the file that holds it; not both. The client sends it with every call as
  /// `authorization: Bearer <token>`, and without TLS only to this host. It reads the file again when the server
  /// rejects the token.
  std::string token, token_file;
  /// The W3C traceparent of calls whose CallOptions have none. Empty: none.
  std::string traceparent;
  /// The time that a call may take, retries included, unless CallOptions says otherwise. Positive; InfiniteDuration: no
  /// limit.
  absl::Duration deadline = absl::Minutes(5);
  /// The largest request and response in one message, from 1 byte to 2 GiB - 1, which is gRPC's limit. Streams and
  /// stored arrays ignore it: they travel in chunks of at most 4 MiB.
  int64_t max_message_bytes = std::numeric_limits<int32_t>::max();
  /// How arrays travel where CallOptions::place is kAuto.
  Place place = Place::kAuto;
  /// With kAuto, a call whose arrays together have more bytes than this does not use one message. Where there is shared
  /// memory, a call with arrays of more than 512 KiB does not either.
  int64_t stream_bytes = int64_t{64} << 20;
  /// Connections for streamed arrays, 1 to 64; never more than the server accepts. 0: 4 for more than 128 MiB, else 1.
  int connections = 0;
  /// Keepalive finds connections that swallow everything. The client pings a connection that has running calls and has
  /// been silent for `keepalive_time`. It closes the connection, and its calls fail as lost, if no answer comes within
  /// `keepalive_timeout` or sent bytes stay unacknowledged for as long. Both positive; InfiniteDuration: never. Servers
  /// close connections that ping more often than their --min-ping-interval (10 s).
  absl::Duration keepalive_time = absl::Seconds(20), keepalive_timeout = absl::Seconds(10);
  /// When the client retries.
  RetryOptions retry;
};

/// Options from environment variables; all others keep their defaults.
///
/// CORANK_SERVER sets the address and CORANK_TOKEN the token. CORANK_SERVER_CA (tls.ca_file),
/// CORANK_CLIENT_CERTIFICATE and CORANK_CLIENT_KEY each switch TLS on. TRACEPARENT sets the traceparent, and is ignored
/// if it is malformed. corankd reads none of these variables, so client and server may share an environment.
ClientOptions OptionsFromEnvironment();

/// Whether `text` is a traceparent of W3C Trace Context: "00-<32 hex digits>-<16 hex digits>-<2 hex digits>", with the
/// first two numbers not zero.
bool IsTraceparent(absl::string_view text);

}  // namespace corank::client

#endif  // CORANK_CLIENT_OPTIONS_H_
