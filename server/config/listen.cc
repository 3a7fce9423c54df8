#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/addresses.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50051",
          "Address for gRPC: HOST:PORT or unix:PATH. Port 0 picks a free port. An address that other hosts can reach "
          "needs TLS or --insecure.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "Address for Prometheus metrics (/metrics) and the status page (/): HOST:PORT, where HOST is an IPv4 address "
          "or a name. Port 0 picks a free port. Empty turns both off.");
ABSL_FLAG(std::string, health_listen, "",
          "Address for health checks alone (grpc.health.v1, in plain text): HOST:PORT or unix:PATH. --listen serves "
          "them too. Empty: no such port.");
ABSL_FLAG(bool, kserve, true,
          "Whether --listen also serves the Open Inference Protocol (KServe v2), for clients of Triton.");
ABSL_FLAG(corank::ByteCount, max_request_bytes, int64_t{256} << 20,
          "Largest request message and largest response message, 1024 to 2147483647 bytes.");

namespace corank {
namespace {

// CivetWeb also accepts lists, signs and several colons, with special meanings.
absl::Status CheckMetricsAddress(const std::string& address) {
  constexpr absl::string_view kName = "metrics-listen";
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return BadValue(kName, parsed.status().message());
  if (parsed->host.front() == '[') {
    return BadValue(
        kName,
        absl::StrCat("'", address, "' is IPv6, and metrics are served on IPv4 only, such as 0.0.0.0:", parsed->port));
  }
  const auto may_name_a_host = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  };
  if (std::all_of(parsed->host.begin(), parsed->host.end(), may_name_a_host) && parsed->ToString() == address) {
    return absl::OkStatus();
  }
  return BadValue(kName, absl::StrCat("'", address, "' is not HOST:PORT with a port of 0 to 65535"));
}

absl::Status ReadListen(Configuration& configuration) {
  Server::Options& server = configuration.server;
  server.listen = absl::GetFlag(FLAGS_listen);
  const absl::Status address = ListenAddress::Parse(server.listen).status();
  if (!address.ok()) return BadValue("listen", address.message());
  server.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  if (!server.metrics_listen.empty()) CORANK_RETURN_IF_ERROR(CheckMetricsAddress(server.metrics_listen));
  server.health_listen = absl::GetFlag(FLAGS_health_listen);
  if (!server.health_listen.empty()) {
    const absl::Status health = ListenAddress::Parse(server.health_listen).status();
    if (!health.ok()) return BadValue("health-listen", health.message());
  }
  server.kserve = absl::GetFlag(FLAGS_kserve);
  server.limits.max_request_bytes = absl::GetFlag(FLAGS_max_request_bytes);
  server.limits.max_response_bytes = server.limits.max_request_bytes;
  return CheckRange("max-request-bytes", server.limits.max_request_bytes, 1024,
                    std::numeric_limits<int32_t>::max());  // Protobuf's own limit
}

}  // namespace

const Group& ListenGroup() {
  static const auto* const group =
      new Group{"listen",
                "Addresses and message sizes",
                {Shown(FLAGS_listen), Shown(FLAGS_metrics_listen), Shown(FLAGS_health_listen), Shown(FLAGS_kserve),
                 Shown(FLAGS_max_request_bytes)},
                ReadListen};
  return *group;
}

}  // namespace corank
