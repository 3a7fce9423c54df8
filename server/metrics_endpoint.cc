#include "server/metrics_endpoint.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace corank {
namespace {

constexpr size_t kMostConnections = 256;
constexpr size_t kMostHeadBytes = size_t{8} << 10;
constexpr size_t kReadBytes = size_t{4} << 10;
constexpr std::chrono::seconds kRequestTime(2);
constexpr std::chrono::seconds kAnswerTime(10);
// A closed socket with unread bytes would reset the connection, and the peer could lose the answer.
constexpr std::chrono::seconds kFarewellTime(1);

std::string PageResponse(absl::string_view status, absl::string_view content_type, const std::string& body,
                         absl::string_view more = "") {
  // A page loads nothing, and no cache may keep a snapshot.
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", content_type, "\r\nContent-Length: ", body.size(),
                      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n", more,
                      "Connection: close\r\n\r\n", body);
}

std::string ErrorResponse(absl::string_view status, absl::string_view more = "") {
  return PageResponse(status, "text/plain; charset=utf-8", absl::StrCat(status, "\n"), more);
}

// The path of a request's target: in origin form, or in absolute form as proxies send it.
absl::string_view PathOf(absl::string_view target) {
  if (absl::ConsumePrefix(&target, "http://")) {
    const size_t slash = target.find('/');
    target = slash == absl::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

}  // namespace

// Reads a head, sends an answer, and waits for the peer to close.
class MetricsEndpoint::Connection final : public wire::Watcher, public std::enable_shared_from_this<Connection> {
 public:
  Connection(MetricsEndpoint* endpoint, int fd) : endpoint_(*endpoint), fd_(fd), timer_(endpoint->loop_.NoTimer()) {}
  ~Connection() override { close(fd_); }

  void Begin(Connections::iterator place) {
    place_ = place;
    endpoint_.loop_.Watch(fd_, EPOLLIN, this);
    EndAfter(kRequestTime);
  }

  void OnReady(uint32_t events) override {
    if (is_over_) return;
    if (stage_ == Stage::kSends) return Send();
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Read();
  }

  void End() {
    is_over_ = true;
    endpoint_.loop_.Cancel(timer_);
    endpoint_.loop_.Forget(fd_, shared_from_this());
    endpoint_.connections_.erase(place_);
  }

 private:
  enum class Stage { kReads, kSends, kWaitsForEnd };

  void EndAfter(std::chrono::seconds time) {
    endpoint_.loop_.Cancel(timer_);
    timer_ = endpoint_.loop_.At(endpoint_.loop_.now() + time, [this] {
      timer_ = endpoint_.loop_.NoTimer();
      End();
    });
  }

  // Once for each event, so that no peer keeps the loop.
  void Read() {
    char* const buffer = endpoint_.loop_.buffer();
    const ssize_t got = recv(fd_, buffer, kReadBytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return End();
    if (stage_ == Stage::kWaitsForEnd) return;
    text_.append(buffer, static_cast<size_t>(got));
    const size_t end = text_.find("\r\n\r\n");
    if (end == std::string::npos && text_.size() <= kMostHeadBytes) return;
    text_ = end <= kMostHeadBytes ? endpoint_.Answer(text_.substr(0, end))
                                  : ErrorResponse("431 Request Header Fields Too Large");
    stage_ = Stage::kSends;
    EndAfter(kAnswerTime);
    Send();
  }

  void Send() {
    while (sent_ < text_.size()) {
      const ssize_t put = send(fd_, text_.data() + sent_, text_.size() - sent_, MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno == EAGAIN) return endpoint_.loop_.Change(fd_, EPOLLOUT, this);
      if (put < 0) return End();
      sent_ += static_cast<size_t>(put);
    }
    stage_ = Stage::kWaitsForEnd;
    text_ = std::string();
    shutdown(fd_, SHUT_WR);
    endpoint_.loop_.Change(fd_, EPOLLIN, this);
    EndAfter(kFarewellTime);
  }

  MetricsEndpoint& endpoint_;
  const int fd_;
  Stage stage_ = Stage::kReads;
  bool is_over_ = false;  // an event of the same round may still come
  std::string text_;      // what came, and then the answer
  size_t sent_ = 0;
  wire::Loop::Timer timer_;
  Connections::iterator place_;
};

MetricsEndpoint::MetricsEndpoint(const Metrics& metrics, StatusSource status, std::unique_ptr<Listener> listener)
    : pages_({{"/metrics", {"text/plain; version=0.0.4; charset=utf-8", [&metrics] { return metrics.Text(); }}},
              {"/", {"text/html; charset=utf-8", [status = std::move(status)] { return StatusPage(status()); }}}}),
      listener_(std::move(listener)) {}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(const ListenAddress& address,
                                                                        const Metrics& metrics, StatusSource status,
                                                                        const Logger* logger) {
  absl::StatusOr<std::unique_ptr<Listener>> listener = Listener::Create(address, /*user_timeout_ms=*/0, logger);
  if (!listener.ok()) {
    return absl::Status(listener.status().code(), absl::StrCat("metrics: ", listener.status().message()));
  }
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint(metrics, std::move(status), *std::move(listener)));
  endpoint->listener_->Start([raw = endpoint.get()](int fd, const std::string& /*peer*/) {
    raw->loop_.Post([raw, taken = std::make_shared<Connection>(raw, fd)] { raw->Take(taken); });
  });
  return endpoint;
}

MetricsEndpoint::~MetricsEndpoint() {
  listener_->Stop();
  loop_.Stop();
}

void MetricsEndpoint::Take(const std::shared_ptr<Connection>& connection) {
  if (connections_.size() >= kMostConnections) connections_.front()->End();
  connections_.push_back(connection);
  connection->Begin(std::prev(connections_.end()));
}

std::string MetricsEndpoint::Answer(const std::string& head) const {
  const absl::string_view line = absl::string_view(head).substr(0, head.find("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) return ErrorResponse("400 Bad Request");
  if (words[0] != "GET" && words[0] != "HEAD") return ErrorResponse("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  const auto page = pages_.find(std::string(PathOf(words[1])));
  std::string answer = page == pages_.end() ? ErrorResponse("404 Not Found")
                                            : PageResponse("200 OK", page->second.content_type, page->second.make());
  if (words[0] == "HEAD") answer.resize(answer.find("\r\n\r\n") + 4);
  return answer;
}

}  // namespace corank
