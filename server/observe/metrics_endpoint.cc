#include "server/observe/metrics_endpoint.h"

#include <exception>
#include <utility>
#include <vector>

#include "CivetServer.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "prometheus/text_serializer.h"

namespace corank {
namespace {

// A page that a function makes anew for each GET.
class Page final : public CivetHandler {
 public:
  Page(absl::string_view content_type, std::function<std::string()> make)
      : content_type_(content_type), make_(std::move(make)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override {
    const std::string body = make_();
    // The page loads nothing, and no cache may keep a snapshot.
    const std::string head = absl::StrCat(
        "HTTP/1.1 200 OK\r\nContent-Type: ", content_type_, "\r\nContent-Length: ", body.size(),
        "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n");
    if (mg_write(connection, head.data(), head.size()) > 0) mg_write(connection, body.data(), body.size());
    return true;
  }

 private:
  const std::string content_type_;
  const std::function<std::string()> make_;
};

}  // namespace

MetricsEndpoint::MetricsEndpoint(const std::string& address, const Metrics& metrics, StatusSource status)
    : metrics_page_(
          std::make_unique<Page>("text/plain; version=0.0.4; charset=utf-8",
                                 [&metrics] { return prometheus::TextSerializer().Serialize(metrics.Collect()); })),
      status_page_(std::make_unique<Page>("text/html; charset=utf-8",
                                          [status = std::move(status)] { return StatusPage(status()); })),
      server_(std::make_unique<CivetServer>(
          std::vector<std::string>{"listening_ports", address, "num_threads", "4", "request_timeout_ms", "2000"})) {
  // $ ends the path. Without it, a handler serves every path that begins with its own.
  server_->addHandler("/metrics$", metrics_page_.get());
  server_->addHandler("/$", status_page_.get());
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Create(const std::string& address,
                                                                         const Metrics& metrics, StatusSource status) {
  try {  // CivetWeb's wrapper reports a taken port by an exception
    return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(address, metrics, std::move(status)));
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for metrics: ", e.what()));
  }
}

MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
  const auto ports = server_->getListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace corank
