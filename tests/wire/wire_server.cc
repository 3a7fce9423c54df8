#include "tests/wire/wire_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace corank::wire::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

class TestHandler : public Handler {
 public:
  TestHandler(std::shared_ptr<Call> call, Seen* seen) : call_(std::move(call)), seen_(*seen) { ++seen_.handlers; }
  ~TestHandler() override { --seen_.handlers; }

  Sink* OnMessageBegin(size_t size) override {
    if (call_->MustTakeAnswers(call_->head().metadata.Get("tenant"))) {
      call_->Finish({kResourceExhausted, "earlier answers are unread", ""});
      return nullptr;
    }
    call_->AllowUnread(1 << 20);
    message_ = std::make_unique<Collector>(size);
    return message_.get();
  }
  void OnMessage() override {
    const std::unique_ptr<Collector> message = std::move(message_);
    seen_.received_bytes += static_cast<int64_t>(message->view().size());
    Take(message->view());
  }
  void OnHalfClose() override { call_->Finish({kInternal, "no message", ""}); }
  void OnCancel(const CallStatus& status) override {
    seen_.AddCancel(status);
    call_->Finish(status);
  }
  void OnDone() override { ++seen_.done; }

 protected:
  virtual void Take(absl::string_view bytes) = 0;
  Call& call() { return *call_; }

 private:
  const std::shared_ptr<Call> call_;
  Seen& seen_;
  std::unique_ptr<Collector> message_;
};

class Echo final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view bytes) override { call().Finish({}, {}, Bytes(std::string(bytes))); }
};

class Total final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view bytes) override {
    total_ += bytes.size();
    call().Read();
  }
  void OnHalfClose() override { call().Finish({}, {}, Bytes(absl::StrCat(total_))); }

 private:
  size_t total_ = 0;
};

// Asks for each message after the round in which the last one came.
class Later final : public TestHandler {
 public:
  Later(std::shared_ptr<Call> call, Seen* seen) : TestHandler(call, seen), call_(std::move(call)) {}
  void Take(absl::string_view bytes) override {
    total_ += bytes.size();
    call_->Post([call = call_] { call->Read(); });
  }
  void OnHalfClose() override { call_->Finish({}, {}, Bytes(absl::StrCat(total_))); }

 private:
  const std::shared_ptr<Call> call_;
  size_t total_ = 0;
};

class Copies final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view bytes) override {
    if (!absl::SimpleAtoi(bytes, &left_)) left_ = 0;
    OnWritten();
  }
  void OnWritten() override {
    if (left_-- > 0) {
      call().Write(Bytes(std::string(64 << 10, static_cast<char>('a' + left_ % 26))));
    } else {
      call().Finish({});
    }
  }

 private:
  int left_ = 0;
};

class Hang final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view) override { call().DropRest(); }
  void OnHalfClose() override {}
};

// Occupies its loop until the test lets it go.
class Block final : public TestHandler {
 public:
  Block(std::shared_ptr<Call> call, Seen* seen) : TestHandler(std::move(call), seen), seen_(*seen) {}
  void Take(absl::string_view) override {
    seen_.blocked.Notify();
    seen_.unblock.WaitForNotification();
    call().Finish({});
  }

 private:
  Seen& seen_;
};

// Answers how many milliseconds ago the call arrived.
class Age final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view) override {
    const auto age = std::chrono::steady_clock::now() - call().head().arrival;
    call().Finish({}, {}, Bytes(absl::StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(age).count())));
  }
};

class Fail final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view) override {
    Metadata trailers;
    trailers.Add("note", "a note");
    trailers.Add("note-bin", std::string("\0\xff", 2));
    call().Finish({9, "100 % \xe2\x98\xba", "\x08\x09"}, std::move(trailers));
  }
};

class Names final : public TestHandler {
 public:
  using TestHandler::TestHandler;
  void Take(absl::string_view) override {
    const Peer& peer = *call().head().peer;
    call().Finish({}, {},
                  Bytes(absl::StrCat(peer.is_verified ? "verified" : "anyone", "|", absl::StrJoin(peer.uris, ","), "|",
                                     absl::StrJoin(peer.dns_names, ","), "|", absl::StrJoin(peer.common_names, ","))));
  }
};

}  // namespace

CallStatus Seen::AwaitCancel() {
  absl::MutexLock lock(&mutex);
  const auto has_one = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return !cancels.empty(); };
  if (!mutex.AwaitWithTimeout(absl::Condition(&has_one), kPatience)) return {-1, "no cancellation", ""};
  CallStatus first = cancels.front();
  cancels.erase(cancels.begin());
  return first;
}

bool Seen::AwaitNoHandlers() const {
  const absl::Time end = absl::Now() + kPatience;
  while (handlers > 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
  return handlers == 0;
}

WireServer::WireServer(const ConnectionLimits& limits, std::shared_ptr<const TlsContext> tls)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      server_(std::make_unique<Server>(2, limits, [this](const auto& call) { return Route(call); })) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 128), 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, tls = std::move(tls)] {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      server_->Serve(fd, "a test", tls);
    }
  });
}

WireServer::~WireServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
  {
    absl::MutexLock lock(&mutex_);
    held_.clear();
  }
  server_.reset();
}

void WireServer::Release() {
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Call>& call : held_) call->Read();
  held_.clear();
}

std::shared_ptr<Handler> WireServer::Route(const std::shared_ptr<Call>& call) {
  const std::string& path = call->head().path;
  {
    absl::MutexLock lock(&seen_.mutex);
    seen_.paths.push_back(path);
  }
  if (path == "/test/Hold") {
    absl::MutexLock lock(&mutex_);
    held_.push_back(call);
    return std::make_shared<Total>(call, &seen_);
  }
  call->Read();
  if (path == "/test/Echo") return std::make_shared<Echo>(call, &seen_);
  if (path == "/test/Total") return std::make_shared<Total>(call, &seen_);
  if (path == "/test/Late") {
    call->Finish({kDeadlineExceeded, "the server is busy", ""});
    return std::make_shared<Hang>(call, &seen_);
  }
  if (path == "/test/Later") return std::make_shared<Later>(call, &seen_);
  if (path == "/test/Copies") return std::make_shared<Copies>(call, &seen_);
  if (path == "/test/Hang") return std::make_shared<Hang>(call, &seen_);
  if (path == "/test/Block") return std::make_shared<Block>(call, &seen_);
  if (path == "/test/Age") return std::make_shared<Age>(call, &seen_);
  if (path == "/test/Fail") return std::make_shared<Fail>(call, &seen_);
  if (path == "/test/Names") return std::make_shared<Names>(call, &seen_);
  return nullptr;
}

}  // namespace corank::wire::testing
