#include <chrono>
#include <cstdint>
#include <limits>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

absl::Status ReadTime(absl::string_view flag, absl::Duration value, absl::Duration least, absl::Duration most,
                      std::chrono::milliseconds& into) {
  CORANK_RETURN_IF_ERROR(CheckDuration(flag, value, least, most));
  into = absl::ToChronoMilliseconds(value);
  return absl::OkStatus();
}

absl::Status ReadConnections(Configuration& configuration) {
  ConnectionLimits& limits = configuration.server.connections;
  const int64_t request_bytes = configuration.server.limits.max_request_bytes;
  limits.max_connections = absl::GetFlag(FLAGS_max_connections);
  CORANK_RETURN_IF_ERROR(CheckRange("max-connections", limits.max_connections, 1, 1'000'000));
  const int32_t max_streams = absl::GetFlag(FLAGS_max_streams);
  CORANK_RETURN_IF_ERROR(CheckRange("max-streams", max_streams, 1, 1'000'000));
  limits.max_streams = static_cast<uint32_t>(max_streams);
  const int64_t max_header_bytes = absl::GetFlag(FLAGS_max_header_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("max-header-bytes", max_header_bytes, 1024, 1 << 20));
  limits.max_header_bytes = static_cast<size_t>(max_header_bytes);
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
  CORANK_RETURN_IF_ERROR(ReadTime("connection-idle-timeout", absl::GetFlag(FLAGS_connection_idle_timeout),
                                  absl::Seconds(1), absl::Hours(24), limits.max_idle));
  limits.max_age = std::chrono::milliseconds(0);
  if (const absl::Duration age = absl::GetFlag(FLAGS_max_connection_age); age != absl::ZeroDuration()) {
    CORANK_RETURN_IF_ERROR(ReadTime("max-connection-age", age, absl::Seconds(1), absl::Hours(24), limits.max_age));
  }
  return ReadTime("max-connection-age-grace", absl::GetFlag(FLAGS_max_connection_age_grace), absl::Seconds(1),
                  absl::Hours(24), limits.age_grace);
}

}  // namespace

const Group& ConnectionsGroup() {
  static const auto* const group =
      new Group{"connections",
                "Connection limits and timeouts",
                {Shown(FLAGS_max_connections), Shown(FLAGS_max_streams), Shown(FLAGS_max_header_bytes),
                 Shown(FLAGS_max_buffered_bytes), Shown(FLAGS_handshake_timeout), Shown(FLAGS_min_ping_interval),
                 Shown(FLAGS_keepalive_interval), Shown(FLAGS_keepalive_timeout), Shown(FLAGS_connection_idle_timeout),
                 Shown(FLAGS_max_connection_age), Shown(FLAGS_max_connection_age_grace)},
                ReadConnections};
  return *group;
}

}  // namespace corank
