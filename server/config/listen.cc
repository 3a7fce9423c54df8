#include <cstdint>
#include <limits>
#include <string>

#include "absl/flags/flag.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"
#include "server/execute/status_macros.h"

ABSL_FLAG(
    std::string, listen, "127.0.0.1:50051",
    "Address that serves gRPC, HOST:PORT, where port 0 takes a free one, or unix:PATH. One that other hosts reach "
    "needs TLS or --insecure.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "Address that serves Prometheus metrics under /metrics, HOST:PORT; port 0 takes a free one. Empty: none.");
ABSL_FLAG(corank::ByteCount, max_request_bytes, int64_t{256} << 20,
          "Largest request message, and largest response message, in bytes, 1024 to 2147483647.");

namespace corank {
namespace {

absl::Status ReadListen(Configuration& configuration) {
  Server::Options& server = configuration.server;
  server.listen = absl::GetFlag(FLAGS_listen);
  const absl::Status address = ListenAddress::Parse(server.listen).status();
  if (!address.ok()) return BadValue("listen", address.message());
  server.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  if (!server.metrics_listen.empty()) CORANK_RETURN_IF_ERROR(CheckAddress("metrics-listen", server.metrics_listen));
  server.limits.max_request_bytes = absl::GetFlag(FLAGS_max_request_bytes);
  server.limits.max_response_bytes = server.limits.max_request_bytes;
  return CheckRange("max-request-bytes", server.limits.max_request_bytes, 1024,
                    std::numeric_limits<int32_t>::max());  // Protobuf's own limit
}

}  // namespace

const Group& ListenGroup() {
  static const auto* const group =
      new Group{"listen",
                "Addresses, and what comes in through them",
                {Shown(FLAGS_listen), Shown(FLAGS_metrics_listen), Shown(FLAGS_max_request_bytes)},
                ReadListen};
  return *group;
}

}  // namespace corank
