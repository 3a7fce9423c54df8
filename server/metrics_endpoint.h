// The HTTP port for monitoring: Prometheus metrics under /metrics and a status page under /.
#ifndef CORANK_SERVER_METRICS_ENDPOINT_H_
#define CORANK_SERVER_METRICS_ENDPOINT_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/status_page.h"
#include "server/security/listener.h"
#include "server/wire/loop.h"

namespace corank {

/// Serves until destroyed, on one loop: no peer occupies a thread. Answers GET and HEAD of HTTP/1.1, one request a
/// connection. A request must come within 2 seconds, and its answer be read within 10. Of more than 256 connections the
/// oldest ends.
class MetricsEndpoint {
 public:
  using StatusSource = std::function<ServerStatus()>;

  /// `metrics` and `logger` outlive the endpoint; `status` is called on the loop's thread. UNAVAILABLE, worded for an
  /// operator, if it cannot listen.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const ListenAddress& address, const Metrics& metrics,
                                                                StatusSource status, const Logger* logger);
  ~MetricsEndpoint();

  /// With the actual port.
  const std::string& address() const { return listener_->address(); }

 private:
  class Connection;
  struct Page {
    std::string content_type;
    std::function<std::string()> make;
  };
  using Connections = std::list<std::shared_ptr<Connection>>;

  MetricsEndpoint(const Metrics& metrics, StatusSource status, std::unique_ptr<Listener> listener);

  void Take(const std::shared_ptr<Connection>& connection);
  // The whole answer to a request with this head.
  std::string Answer(const std::string& head) const;

  const std::map<std::string, Page> pages_;  // by path
  Connections connections_;                  // of the loop's thread; the oldest first
  wire::Loop loop_;
  const std::unique_ptr<Listener> listener_;  // ends before the loop that it hands connections to
};

}  // namespace corank

#endif  // CORANK_SERVER_METRICS_ENDPOINT_H_
