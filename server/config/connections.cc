#include <chrono>
#include <cstdint>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(int32_t, max_connections, 1024,
          "Maximum number of open connections to --listen, 1 to 1000000. The server closes further ones at once.");
ABSL_FLAG(int32_t, max_streams, 256,
          "Maximum number of concurrent calls on one connection, 1 to 1000000. A client waits with further calls, or "
          "opens another "
          "connection.");
ABSL_FLAG(corank::ByteCount, max_header_bytes, 16 << 10,
          "Maximum size of a call's metadata in bytes, 1024 to 1048576.");
ABSL_FLAG(
    corank::ByteCount, max_buffered_bytes, 0,
    "Memory of all connections together for incomplete messages, for plans of streams, and for what streams may send "
    "ahead; at least four times --max-request-bytes. Arrays in messages do not count here: --host-pool-bytes "
    "bounds them. The server refuses calls that exceed it. 0: eight times --max-request-bytes, and at least 256MiB.");
ABSL_FLAG(absl::Duration, handshake_timeout, absl::Seconds(10),
          "The server closes a connection whose handshake takes longer than this, 100ms to 10m.");
ABSL_FLAG(absl::Duration, min_ping_interval, absl::Seconds(10),
          "The server closes the connection of a client that pings more often than this, 0s to 1h.");
ABSL_FLAG(absl::Duration, keepalive_interval, absl::Seconds(30),
          "The server pings a connection that was silent for this long, 100ms to 24h.");
ABSL_FLAG(absl::Duration, keepalive_timeout, absl::Seconds(10),
          "The server closes a connection, and cancels its calls, if it does not answer a ping or accept data for this "
          "long, 100ms to 1h.");
ABSL_FLAG(absl::Duration, connection_idle_timeout, absl::Minutes(10),
          "The server closes a connection without calls after this long, 1s to 24h. Clients connect again with their "
          "next call.");
ABSL_FLAG(absl::Duration, max_connection_age, absl::ZeroDuration(),
          "The server asks a client to connect again after this long, give or take a tenth, 1s to 24h, so that servers "
          "that started later get their share. Calls in progress go on. 0s: never.");
ABSL_FLAG(absl::Duration, max_connection_age_grace, absl::Minutes(10),
          "Calls in progress have this long to end after --max-connection-age, 1s to 24h; then the server closes the "
          "connection.");

namespace corank {
namespace {

absl::Status ReadConnections(Configuration& configuration) {
  ConnectionLimits& limits = configuration.server.connections;
  const int64_t request_bytes = configuration.server.limits.max_request_bytes;
  CORANK_RETURN_IF_ERROR(Take(FLAGS_max_connections, limits.max_connections, 1, 1'000'000));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_max_streams, limits.max_streams, 1, 1'000'000));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_max_header_bytes, limits.max_header_bytes, 1024, 1 << 20));
  limits.max_buffered_bytes = absl::GetFlag(FLAGS_max_buffered_bytes);
  if (limits.max_buffered_bytes != 0) {
    CORANK_RETURN_IF_ERROR(Take(FLAGS_max_buffered_bytes, limits.max_buffered_bytes, 4 * request_bytes));
  }
  constexpr absl::Duration kLeast = absl::Milliseconds(100), kSecond = absl::Seconds(1), kHour = absl::Hours(1);
  CORANK_RETURN_IF_ERROR(Take(FLAGS_handshake_timeout, limits.handshake_timeout, kLeast, absl::Minutes(10)));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_min_ping_interval, limits.min_ping_interval, absl::ZeroDuration(), kHour));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_keepalive_interval, limits.keepalive_interval, kLeast));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_keepalive_timeout, limits.keepalive_timeout, kLeast, kHour));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_connection_idle_timeout, limits.max_idle, kSecond));
  limits.max_age = std::chrono::milliseconds(0);
  if (absl::GetFlag(FLAGS_max_connection_age) != absl::ZeroDuration()) {
    CORANK_RETURN_IF_ERROR(Take(FLAGS_max_connection_age, limits.max_age, kSecond));
  }
  return Take(FLAGS_max_connection_age_grace, limits.age_grace, kSecond);
}

}  // namespace

Group ConnectionsGroup() {
  return {"connections",
          "Connection limits and timeouts",
          {Shown(FLAGS_max_connections), Shown(FLAGS_max_streams), Shown(FLAGS_max_header_bytes),
           Shown(FLAGS_max_buffered_bytes), Shown(FLAGS_handshake_timeout), Shown(FLAGS_min_ping_interval),
           Shown(FLAGS_keepalive_interval), Shown(FLAGS_keepalive_timeout), Shown(FLAGS_connection_idle_timeout),
           Shown(FLAGS_max_connection_age), Shown(FLAGS_max_connection_age_grace)},
          ReadConnections};
}

}  // namespace corank
