// The status page: a small HTML page for a person who opens the metrics port in a browser.
#ifndef CORANK_SERVER_OBSERVE_STATUS_PAGE_H_
#define CORANK_SERVER_OBSERVE_STATUS_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace corank {

/// A snapshot of the server for its status page.
struct ServerStatus {
  struct Device {
    int ordinal = 0;
    std::string name;
    int64_t memory_bytes = 0;
    bool up = false;
  };

  std::string version;
  std::string commit;  // empty: unknown
  bool is_serving = false;
  std::string state;  // in words, such as "serving" or "draining"
  std::string engine;
  std::string engine_reason;  // why this engine; empty: nothing to explain
  std::vector<Device> devices;
  int64_t uptime_seconds = 0;
  int64_t waiting_requests = 0;
  double oldest_wait_seconds = 0;
  int64_t active_calls = 0;
};

/// The page as HTML, UTF-8. It loads nothing from elsewhere. All text is escaped.
std::string StatusPage(const ServerStatus& status);

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_STATUS_PAGE_H_
