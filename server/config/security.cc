#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"
#include "server/execute/status_macros.h"

ABSL_FLAG(std::string, tls_certificate, "",
          "PEM file with the server's certificate and what stands between it and the root. With --tls-key: TLS. A "
          "file that changes is read again; one that is broken, or not valid yet, changes nothing.");
ABSL_FLAG(std::string, tls_key, "", "PEM file with the key of --tls-certificate, without a password.");
ABSL_FLAG(std::string, tls_client_ca, "",
          "PEM file with the roots of client certificates, which callers must show then. A name in it is the tenant's "
          "(the first URI, else DNS name, else common name), where no token says another. Empty: none is asked for.");
ABSL_FLAG(
    std::string, tokens_file, "",
    "File with who may call: tenant, SHA-256 of a token or certificate:NAME, and permissions, a line each. "
    "Callers send the metadata `authorization: Bearer TOKEN`. It is read again when it changes. Empty: no tokens.");
ABSL_FLAG(bool, insecure, false,
          "Whether --listen may be open to other hosts without TLS: where something else protects the network.");
ABSL_FLAG(std::string, health_listen, "",
          "Address that serves grpc.health.v1 in plain text and nothing else, for probes: HOST:PORT or unix:PATH. "
          "Empty: none; --listen serves it too.");
ABSL_FLAG(int32_t, max_connections, 1024,
          "Connections to --listen at the same time, 1 to 1000000; more are closed at once.");
ABSL_FLAG(int32_t, max_streams, 256,
          "Calls of one connection at the same time, 1 to 1000000; a client waits with more, or opens another "
          "connection.");
ABSL_FLAG(corank::ByteCount, max_header_bytes, 16 << 10,
          "Metadata of a call, in bytes, 1024 to 1048576; of each frame where a call sends several.");
ABSL_FLAG(corank::ByteCount, max_buffered_bytes, 0,
          "Memory for messages that have not come in whole, of all connections together, in bytes, four times "
          "--max-request-bytes or more; calls beyond it are ended. 0: eight times --max-request-bytes, and 256 MiB at "
          "least.");
ABSL_FLAG(absl::Duration, handshake_timeout, absl::Seconds(10),
          "A connection that is not through with its greetings after this long is closed, 100ms to 10m.");
ABSL_FLAG(absl::Duration, min_ping_interval, absl::Seconds(10),
          "A client that pings more often than this is hung up on, 0s to 1h.");
ABSL_FLAG(absl::Duration, keepalive_interval, absl::Seconds(30),
          "A connection from which nothing came for this long is asked for a sign of life, 100ms to 24h.");
ABSL_FLAG(absl::Duration, keepalive_timeout, absl::Seconds(10),
          "A connection that gives none for this long, or does not take what is sent, is closed, and its calls are "
          "cancelled, 100ms to 1h.");
ABSL_FLAG(
    absl::Duration, connection_idle_timeout, absl::Minutes(10),
    "A connection without a call for this long is closed, 1s to 24h; clients connect again with their next call.");

namespace corank {
namespace {

// In `least` to `most`, as milliseconds.
absl::Status ReadTime(absl::string_view flag, absl::Duration value, absl::Duration least, absl::Duration most,
                      std::chrono::milliseconds& into) {
  if (value < least || value > most) {
    return BadValue(flag, absl::StrCat(absl::FormatDuration(value), " is not in ", absl::FormatDuration(least), " to ",
                                       absl::FormatDuration(most)));
  }
  into = absl::ToChronoMilliseconds(value);
  return absl::OkStatus();
}

absl::Status ReadLimits(Configuration& configuration) {
  ConnectionLimits& limits = configuration.server.connections;
  const int64_t request_bytes = configuration.server.limits.max_request_bytes;
  limits.max_connections = absl::GetFlag(FLAGS_max_connections);
  CORANK_RETURN_IF_ERROR(CheckRange("max-connections", limits.max_connections, 1, 1'000'000));
  limits.max_streams = absl::GetFlag(FLAGS_max_streams);
  CORANK_RETURN_IF_ERROR(CheckRange("max-streams", limits.max_streams, 1, 1'000'000));
  limits.max_header_bytes = absl::GetFlag(FLAGS_max_header_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("max-header-bytes", limits.max_header_bytes, 1024, 1 << 20));
  limits.max_buffered_bytes = absl::GetFlag(FLAGS_max_buffered_bytes);
  if (limits.max_buffered_bytes != 0) {
    CORANK_RETURN_IF_ERROR(CheckRange("max-buffered-bytes", limits.max_buffered_bytes, 4 * request_bytes,
                                      std::numeric_limits<int64_t>::max()));
  }
  constexpr absl::Duration kLeast = absl::Milliseconds(100);
  CORANK_RETURN_IF_ERROR(ReadTime("handshake-timeout", absl::GetFlag(FLAGS_handshake_timeout), kLeast,
                                  absl::Minutes(10), limits.handshake_timeout));
  CORANK_RETURN_IF_ERROR(ReadTime("min-ping-interval", absl::GetFlag(FLAGS_min_ping_interval), absl::ZeroDuration(),
                                  absl::Hours(1), limits.min_ping_interval));
  CORANK_RETURN_IF_ERROR(ReadTime("keepalive-interval", absl::GetFlag(FLAGS_keepalive_interval), kLeast,
                                  absl::Hours(24), limits.keepalive_interval));
  CORANK_RETURN_IF_ERROR(ReadTime("keepalive-timeout", absl::GetFlag(FLAGS_keepalive_timeout), kLeast, absl::Hours(1),
                                  limits.keepalive_timeout));
  return ReadTime("connection-idle-timeout", absl::GetFlag(FLAGS_connection_idle_timeout), absl::Seconds(1),
                  absl::Hours(24), limits.max_idle);
}

absl::Status ReadSecurity(Configuration& configuration) {
  SecurityOptions& security = configuration.server.security;
  security.tls.certificate = absl::GetFlag(FLAGS_tls_certificate);
  security.tls.key = absl::GetFlag(FLAGS_tls_key);
  security.tls.client_ca = absl::GetFlag(FLAGS_tls_client_ca);
  security.tokens_file = absl::GetFlag(FLAGS_tokens_file);
  security.insecure = absl::GetFlag(FLAGS_insecure);
  CORANK_RETURN_IF_ERROR(ReadLimits(configuration));
  configuration.server.health_listen = absl::GetFlag(FLAGS_health_listen);
  if (!configuration.server.health_listen.empty()) {
    const absl::Status health = ListenAddress::Parse(configuration.server.health_listen).status();
    if (!health.ok()) return BadValue("health-listen", health.message());
  }
  const absl::StatusOr<ListenAddress> listen = ListenAddress::Parse(configuration.server.listen);
  if (!listen.ok()) return BadValue("listen", listen.status().message());
  CORANK_RETURN_IF_ERROR(CheckSecurity(security, *listen));
  if (security.insecure && !security.tls.is_on() && !security.tokens_file.empty()) {
    configuration.warnings.emplace_back("--insecure: tokens travel in plain text");
  }
  return absl::OkStatus();
}

}  // namespace

const Group& SecurityGroup() {
  static const auto* const group =
      new Group{"security",
                "Who may call, and how",
                {Hidden(FLAGS_tls_certificate), Hidden(FLAGS_tls_key), Hidden(FLAGS_tls_client_ca),
                 Hidden(FLAGS_tokens_file), Shown(FLAGS_insecure), Shown(FLAGS_health_listen),
                 Shown(FLAGS_max_connections), Shown(FLAGS_max_streams), Shown(FLAGS_max_header_bytes),
                 Shown(FLAGS_max_buffered_bytes), Shown(FLAGS_handshake_timeout), Shown(FLAGS_min_ping_interval),
                 Shown(FLAGS_keepalive_interval), Shown(FLAGS_keepalive_timeout), Shown(FLAGS_connection_idle_timeout)},
                ReadSecurity};
  return *group;
}

}  // namespace corank
