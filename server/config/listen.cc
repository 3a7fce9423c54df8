#include <cstdint>
#include <limits>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"
#include "server/security/listener.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50051",
          "Address for gRPC: HOST:PORT or unix:PATH. Port 0 picks a free port. An address that other hosts can reach "
          "needs TLS or --insecure.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "Address for Prometheus metrics (/metrics) and the status page (/): HOST:PORT or unix:PATH. Port 0 picks a "
          "free port. Empty turns both off.");
ABSL_FLAG(std::string, health_listen, "",
          "Address for health checks alone (grpc.health.v1, in plain text): HOST:PORT or unix:PATH. --listen serves "
          "them too. Empty: no such port.");
ABSL_FLAG(bool, kserve, true,
          "Whether --listen also serves the Open Inference Protocol (KServe v2), for clients of Triton.");
ABSL_FLAG(corank::ByteCount, max_request_bytes, int64_t{256} << 20,
          "Largest request message and largest response message, 1024 to 2147483647 bytes.");

namespace corank {
namespace {

absl::Status CheckAddress(absl::string_view flag, const std::string& address) {
  const absl::Status status = ListenAddress::Parse(address).status();
  return status.ok() ? status : BadValue(flag, status.message());
}

absl::Status ReadListen(Configuration& configuration) {
  Server::Options& server = configuration.server;
  server.listen = absl::GetFlag(FLAGS_listen);
  server.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  server.health_listen = absl::GetFlag(FLAGS_health_listen);
  CORANK_RETURN_IF_ERROR(CheckAddress("listen", server.listen));
  if (!server.metrics_listen.empty()) CORANK_RETURN_IF_ERROR(CheckAddress("metrics-listen", server.metrics_listen));
  if (!server.health_listen.empty()) CORANK_RETURN_IF_ERROR(CheckAddress("health-listen", server.health_listen));
  server.kserve = absl::GetFlag(FLAGS_kserve);
  server.limits.max_response_bytes = absl::GetFlag(FLAGS_max_request_bytes);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // Protobuf's own limit
  return Take(FLAGS_max_request_bytes, server.limits.max_request_bytes, 1024, kMost);
}

}  // namespace

Group ListenGroup() {
  return {"listen",
          "Addresses and message sizes",
          {Shown(FLAGS_listen), Shown(FLAGS_metrics_listen), Shown(FLAGS_health_listen), Shown(FLAGS_kserve),
           Shown(FLAGS_max_request_bytes)},
          ReadListen};
}

}  // namespace corank
