// The HTTP port for monitoring: Prometheus metrics under /metrics and a status page under /.
#ifndef CORANK_SERVER_OBSERVE_METRICS_ENDPOINT_H_
#define CORANK_SERVER_OBSERVE_METRICS_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observe/metrics.h"
#include "server/observe/status_page.h"

class CivetHandler;
class CivetServer;

namespace corank {

/// Serves until destroyed. The server closes the connection of a peer that stays silent, or does not read, after two
/// seconds; until then that peer occupies one of four threads.
class MetricsEndpoint {
 public:
  using StatusSource = std::function<ServerStatus()>;

  /// `address` is HOST:PORT; port 0 means a free one. `metrics` must outlive the endpoint; `status` is called on any
  /// thread, several at a time. UNAVAILABLE if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Create(const std::string& address, const Metrics& metrics,
                                                                 StatusSource status);
  ~MetricsEndpoint();

  int port() const;

 private:
  MetricsEndpoint(const std::string& address, const Metrics& metrics, StatusSource status);

  // The server goes first: its threads call the handlers.
  const std::unique_ptr<CivetHandler> metrics_page_, status_page_;
  const std::unique_ptr<CivetServer> server_;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_METRICS_ENDPOINT_H_
