// How a Client is made.
#ifndef CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_
#define CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cpp/operators.h"
#include "client/cpp/retry.h"

namespace corank::client {

/// TLS. Files are PEM, and read once, when the Client is made.
struct TlsOptions {
  /// Certificates of the authorities that may have signed the server's. Empty: those of this system.
  std::string ca_file;
  /// The client's own certificate, with its chain, and its key, for servers that ask for one: both or none.
  std::string certificate_file, key_file;
  /// The name that the server's certificate must hold. Empty: the host of the address.
  std::string server_name;
};

struct ClientOptions {
  /// host:port, or any other gRPC target such as unix:/run/corank.sock. There is no port by default.
  std::string address = "127.0.0.1:50051";
  /// Unset: no TLS.
  std::optional<TlsOptions> tls;
  /// What says who asks, sent with every call as `authorization: Bearer <token>`: the token, or the file that holds it
  /// (which is read again when the server does not take what it held). Not both. A token goes out without TLS only to
  /// this host.
  std::string token, token_file;
  /// W3C traceparent of the calls that have none in their CallOptions; empty: none.
  std::string traceparent;
  /// Time that a call may take, retries included, where CallOptions does not say. Positive; InfiniteDuration: no limit.
  absl::Duration deadline = absl::Minutes(5);
  /// Largest request and response in one message, 1 byte to 2 GiB - 1 (the most that gRPC carries). Streams and kept
  /// arrays travel in chunks, of 4 MiB at most, whatever this is.
  int64_t max_message_bytes = std::numeric_limits<int32_t>::max();
  /// How arrays travel where CallOptions::place is kAuto.
  Place place = Place::kAuto;
  /// With kAuto here too, arrays of one call that have more bytes together than this do not travel in one message.
  /// Where there is shared memory, those of more than 512 KiB do not either.
  int64_t stream_bytes = int64_t{64} << 20;
  /// Connections for streamed arrays, 1 to 64. 0: 4 from 256 MiB on, else 1. Never more than the server takes.
  int connections = 0;
  /// A connection that has calls under way and from which nothing has come for `keepalive_time` is asked whether it
  /// still stands. Where no answer comes within `keepalive_timeout`, or what is sent is not taken for as long, it is
  /// closed and its calls fail as lost: a network that swallows everything tells nobody. Both positive; servers close
  /// connections that ask more often than their --min-ping-interval (10 s). InfiniteDuration: never.
  absl::Duration keepalive_time = absl::Seconds(20), keepalive_timeout = absl::Seconds(10);
  /// What is done about calls that fail.
  RetryOptions retry;
};

/// The options as the environment gives them: CORANK_SERVER (address), CORANK_TOKEN, CORANK_SERVER_CA (tls.ca_file),
/// CORANK_CLIENT_CERTIFICATE, CORANK_CLIENT_KEY (each of these three switches TLS on), and TRACEPARENT, which is left
/// out unless it is one. All else as made. None of these names is one of corankd's (CORANK_TLS_KEY is its --tls-key):
/// both may run in one environment.
ClientOptions OptionsFromEnvironment();

/// Whether this is a traceparent of W3C Trace Context: "00-<32 hex digits>-<16 hex digits>-<2 hex digits>", neither
/// number zero.
bool IsTraceparent(absl::string_view text);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_
