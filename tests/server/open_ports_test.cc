// The ports without credentials, health and metrics: callers that hold connections to them lock nobody else out.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/metrics_endpoint.h"
#include "server/rpc/health.h"
#include "server/rpc_endpoint.h"
#include "tests/server/corankd_process.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/server/test_certificates.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// HTTP/2's preface and an empty SETTINGS frame: all that a server waits for before the first call.
const std::string kGreeting = absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", std::string("\0\0\0\4\0\0\0\0\0", 9));

// A TCP connection to 127.0.0.1 with full control over its bytes.
class Peer {
 public:
  /// `receive_bytes`: size of its receive buffer; 0: the system's.
  explicit Peer(const std::string& address, int receive_bytes = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_bytes > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(ListenAddress::Parse(address)->port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    const timeval patience = {20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~Peer() { close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void Send(const std::string& bytes) const { send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  /// Whether something arrives before the timeout. Does not read it.
  bool Hears() const {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_PEEK) == 1;
  }
  /// Whether a byte arrives before the timeout. Reads it.
  bool TakesAByte() const {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) == 1;
  }
  /// Whether the other side closes the connection before the timeout.
  bool IsHungUpOn() const {
    char bytes[4096];
    for (;;) {
      const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }

 private:
  const int fd_;
};

grpc::Status Check(const std::string& address) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return CallRaw(Connect(address), "/grpc.health.v1.Health/Check", &context, "");
}

TEST(HealthPort, IdleConnectionsKeepNoProbeOut) {
  Server::Options options = TestOptions();
  options.health_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string address = running.server().health_address();
  std::deque<Peer> peers;
  for (int i = 0; i < 80; ++i) {
    peers.emplace_back(address).Send(kGreeting);
    ASSERT_TRUE(peers.back().Hears()) << "let in, number " << i;
  }
  EXPECT_TRUE(peers.front().IsHungUpOn()) << "the oldest";
  for (int i = 0; i < 3; ++i) {
    const grpc::Status status = Check(address);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

class Endpoint {
 public:
  explicit Endpoint(const ConnectionLimits& limits, std::chrono::nanoseconds most_watch_time = std::chrono::hours(1))
      : board_(most_watch_time) {
    board_.Set("", true);
    RpcEndpoint::Options options;
    options.listen = *ListenAddress::Parse("127.0.0.1:0");
    options.limits = limits;
    Methods methods;
    AddHealth(&board_, &methods);
    auto started = RpcEndpoint::Start(options, methods.router(), &logger_);
    EXPECT_TRUE(started.ok()) << started.status();
    endpoint_ = *std::move(started);
  }
  const std::string& address() const { return endpoint_->address(); }
  const RpcEndpoint& endpoint() const { return *endpoint_; }

 private:
  const Logger logger_{LogLevel::kError};
  HealthBoard board_;
  std::unique_ptr<RpcEndpoint> endpoint_;
};

TEST(RpcEndpoint, AConnectionWithoutCallsIsClosedAndOneWithACallIsNot) {
  ConnectionLimits limits;
  limits.max_idle = std::chrono::milliseconds(200);
  const Endpoint endpoint(limits);
  const auto channel = Connect(endpoint.address());
  RawStream watch(channel, "/grpc.health.v1.Health/Watch", HealthRequest(""));
  ASSERT_EQ(watch.Read(), kServing);
  {
    const Peer idle(endpoint.address());
    idle.Send(kGreeting);
    EXPECT_TRUE(idle.IsHungUpOn());
  }
  grpc::ClientContext context;
  EXPECT_TRUE(CallRaw(channel, "/grpc.health.v1.Health/Check", &context, "").ok());
  EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_READY) << "the watch keeps it";
}

TEST(RpcEndpoint, AWatchOnAnOldConnectionEndsAndIsRenewedByTheNextCall) {
  ConnectionLimits limits;
  limits.max_age = std::chrono::milliseconds(300);
  limits.age_grace = std::chrono::milliseconds(100);
  const Endpoint endpoint(limits);
  const auto channel = Connect(endpoint.address());
  for (int i = 0; i < 3; ++i) {
    const auto stub = grpc::health::v1::Health::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto watch = stub->Watch(&context, {});
    grpc::health::v1::HealthCheckResponse health;
    ASSERT_TRUE(watch->Read(&health)) << i;
    EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::SERVING);
    EXPECT_FALSE(watch->Read(&health)) << "it says nothing wrong before its end";
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST(RpcEndpoint, AWatchEndsAfterItsTimeAndItsConnectionStays) {
  const Endpoint endpoint(ConnectionLimits(), std::chrono::milliseconds(200));
  const auto channel = Connect(endpoint.address());
  const auto stub = grpc::health::v1::Health::NewStub(channel);
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto watch = stub->Watch(&context, {});
    grpc::health::v1::HealthCheckResponse health;
    while (watch->Read(&health)) EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::SERVING);
    const grpc::Status status = watch->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.error_message(), "a health watch ends after 200ms; open another one");
  }
  EXPECT_EQ(endpoint.endpoint().open_connections(), 1);
}

TEST(MetricsPort, SilentConnectionsKeepNoScrapeOutAndAreClosed) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  const Peer silent(address), half(address), unread(address);
  half.Send("GET /metrics HTT");
  unread.Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(unread.Hears()) << "all three were there before what follows";
  EXPECT_THAT(Scrape(address), HasSubstr("corank_queue_requests 0\n"));
  EXPECT_TRUE(silent.IsHungUpOn());
  EXPECT_TRUE(half.IsHungUpOn());
}

TEST(MetricsPort, ManyReadersOfAByteAtATimeKeepNoScrapeOut) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  std::deque<Peer> readers;
  for (int i = 0; i < 64; ++i) {
    readers.emplace_back(address, /*receive_bytes=*/2048).Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(readers.back().Hears()) << "number " << i;
  }
  for (int byte = 0; byte < 3; ++byte) {
    for (const Peer& reader : readers) EXPECT_TRUE(reader.TakesAByte());
    EXPECT_THAT(Scrape(address), HasSubstr("corank_queue_requests 0\n"));
  }
}

TEST(MetricsPort, ManySlowSendersKeepNoScrapeOut) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  std::deque<Peer> senders;
  for (int i = 0; i < 300; ++i) {  // more than the port holds
    const Peer& sender = senders.emplace_back(address);
    sender.Send(i % 2 == 0 ? "GET /metrics HT" : "POST /metrics HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx");
  }
  for (int i = 0; i < 3; ++i) {
    for (const Peer& sender : senders) sender.Send("x");
    EXPECT_THAT(Scrape(address), HasSubstr("corank_queue_requests 0\n"));
  }
  EXPECT_TRUE(senders.front().IsHungUpOn());
  EXPECT_TRUE(senders.back().IsHungUpOn());
}

TEST(MetricsPort, AnswersWhatIsNoRequestForAPage) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  for (const auto& [request, answer] : std::vector<std::pair<std::string, std::string>>{
           {"HEAD /metrics HTTP/1.1", "200 OK"},
           {"GET /metrics?name=x HTTP/1.0", "200 OK"},
           {"GET http://here/metrics HTTP/1.1", "200 OK"},
           {"GET http://here HTTP/1.1", "200 OK"},
           {"POST /metrics HTTP/1.1", "405 Method Not Allowed"},
           {"GET /metrics/x HTTP/1.1", "404 Not Found"},
           {"GET /metrics", "400 Bad Request"},
           {"PRI * HTTP/2.0", "400 Bad Request"},
           {"\x16\x03\x01", "400 Bad Request"},
           {"GET / HTTP/1.1\r\nx: " + std::string(9000, 'x'), "431 Request Header Fields Too Large"}}) {
    EXPECT_THAT(Exchange(address, request + "\r\n\r\n"), StartsWith("HTTP/1.1 " + answer + "\r\n")) << request;
  }
  for (const char* path : {"/metrics", "/nothing"}) {
    const std::string head = Exchange(address, absl::StrCat("HEAD ", path, " HTTP/1.1\r\n\r\n"));
    EXPECT_EQ(head.find("\r\n\r\n"), head.size() - 4) << "no body: " << path;
  }
}

TEST(MetricsPort, ServesBothFamiliesOfAddresses) {
  Server::Options options = TestOptions();
  options.metrics_listen = "[::]:0";
  const RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  ASSERT_THAT(address, StartsWith("[::]:"));
  const int port = ListenAddress::Parse(address)->port;
  EXPECT_THAT(Scrape(absl::StrCat("127.0.0.1:", port)), HasSubstr("corank_queue_requests 0\n"));
}

TEST(MetricsPort, SaysWhenItIsTaken) {
  const Metrics metrics;
  const Logger logger{LogLevel::kError};
  const auto status = [] { return ServerStatus(); };
  const auto first = MetricsEndpoint::Start(*ListenAddress::Parse("127.0.0.1:0"), metrics, status, &logger);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = MetricsEndpoint::Start(*ListenAddress::Parse((*first)->address()), metrics, status, &logger);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.status().message(),
            absl::StrCat("metrics: cannot listen on ", (*first)->address(), ": Address already in use"));
}

TEST(Metrics, SayWhenTheCertificateExpires) {
  const TestFolder folder;
  const TestAuthority authority("authority");
  const TestCertificate pair = authority.Issue({"x", {"IP:127.0.0.1"}, -absl::Hours(1), absl::Hours(48)});
  Server::Options options = TestOptions();
  options.security.tls = {folder.Write("crt", pair.certificate), folder.Write("key", pair.key), ""};
  const auto expiry_of = [](const Server& server) {
    for (const prometheus::MetricFamily& family : server.metrics().Collect()) {
      if (family.name == "corank_tls_certificate_expiry_timestamp_seconds") return family.metric[0].gauge.value;
    }
    return 0.0;
  };
  const RunningServer secured(options);
  const double expected = absl::ToDoubleSeconds(absl::Now() + absl::Hours(48) - absl::UnixEpoch());
  EXPECT_NEAR(expiry_of(secured.server()), expected, 60);
  const RunningServer plain;
  EXPECT_EQ(expiry_of(plain.server()), 0) << "not there";
}

}  // namespace
}  // namespace corank::testing
