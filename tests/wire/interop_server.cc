// The server of gRPC's interoperability tests (grpc.testing.TestService) on this project's wire, for clients of others.
//
//   interop_server [CERTIFICATE KEY]     prints its port, and serves until standard input ends
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "server/wire/server.h"
#include "tests/wire/interop.pb.h"

namespace corank::wire {
namespace {

namespace testing = grpc::testing;

constexpr char kInitial[] = "x-grpc-test-echo-initial";
constexpr char kTrailing[] = "x-grpc-test-echo-trailing-bin";

std::string Zeros(int count) { return std::string(static_cast<size_t>(count), '\0'); }

// What the methods share: messages come one at a time, answers go one at a time.
class TestCall : public Handler {
 public:
  explicit TestCall(std::shared_ptr<Call> call) : call_(std::move(call)) {
    Metadata initial;
    for (const absl::string_view value : call_->head().metadata.All(kInitial)) initial.Add(kInitial, value);
    if (!initial.entries().empty()) call_->SendMetadata(std::move(initial));
    call_->Read();
  }

  Sink* OnMessageBegin(size_t size) override {
    message_ = std::make_unique<Collector>(size);
    call_->AllowUnread(1 << 20);
    return message_.get();
  }
  void OnMessage() override {
    if (OnMessage(std::exchange(message_, nullptr)->view())) call_->Read();
  }
  void OnHalfClose() override { End(); }
  void OnWritten() override {
    is_writing_ = false;
    Pump();
  }
  void OnCancel(const CallStatus& status) override { call_->Finish(status); }
  void OnDone() override {}

 protected:
  // Whether another message is wanted.
  virtual bool OnMessage(absl::string_view bytes) = 0;

  void Answer(const google::protobuf::Message& message) {
    answers_.push_back(message.SerializeAsString());
    Pump();
  }
  void End(CallStatus status = {}) {
    status_ = std::move(status);
    is_over_ = true;
    Pump();
  }
  void EndWith(const testing::EchoStatus& status) { End({status.code(), status.message(), ""}); }

 private:
  void Pump() {
    if (is_writing_) return;
    if (!answers_.empty()) {
      is_writing_ = true;
      call_->Write(Bytes(std::move(answers_.front())));
      answers_.pop_front();
    } else if (is_over_) {
      Metadata trailers;
      for (const absl::string_view value : call_->head().metadata.All(kTrailing)) trailers.Add(kTrailing, value);
      call_->Finish(status_, std::move(trailers));
    }
  }

  const std::shared_ptr<Call> call_;
  std::unique_ptr<Collector> message_;
  std::deque<std::string> answers_;
  bool is_writing_ = false, is_over_ = false;
  CallStatus status_;
};

bool Parse(absl::string_view bytes, google::protobuf::Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

class EmptyCall final : public TestCall {
 public:
  using TestCall::TestCall;
  bool OnMessage(absl::string_view) override {
    Answer(testing::SimpleResponse());
    End();
    return false;
  }
};

class UnaryCall final : public TestCall {
 public:
  using TestCall::TestCall;
  bool OnMessage(absl::string_view bytes) override {
    testing::SimpleRequest request;
    if (!Parse(bytes, &request)) {
      End({kInternal, "not a SimpleRequest", ""});
    } else if (request.response_status().code() != 0) {
      EndWith(request.response_status());
    } else {
      testing::SimpleResponse response;
      response.mutable_payload()->set_body(Zeros(request.response_size()));
      Answer(response);
      End();
    }
    return false;
  }
};

class StreamingInputCall final : public TestCall {
 public:
  using TestCall::TestCall;
  bool OnMessage(absl::string_view bytes) override {
    testing::StreamingInputCallRequest request;
    if (!Parse(bytes, &request)) End({kInternal, "not a StreamingInputCallRequest", ""});
    size_ += static_cast<int>(request.payload().body().size());
    return true;
  }
  void OnHalfClose() override {
    testing::StreamingInputCallResponse response;
    response.set_aggregated_payload_size(size_);
    Answer(response);
    End();
  }

 private:
  int size_ = 0;
};

class StreamingOutputCall : public TestCall {
 public:
  using TestCall::TestCall;
  bool OnMessage(absl::string_view bytes) override {
    testing::StreamingOutputCallRequest request;
    if (!Parse(bytes, &request)) End({kInternal, "not a StreamingOutputCallRequest", ""});
    if (request.response_status().code() != 0) {
      EndWith(request.response_status());
      return false;
    }
    for (const testing::ResponseParameters& parameters : request.response_parameters()) {
      testing::StreamingOutputCallResponse response;
      response.mutable_payload()->set_body(Zeros(parameters.size()));
      Answer(response);
    }
    return true;
  }
};

std::shared_ptr<Handler> Route(const std::shared_ptr<Call>& call) {
  const std::string& path = call->head().path;
  constexpr absl::string_view kService = "/grpc.testing.TestService/";
  if (path.compare(0, kService.size(), kService.data(), kService.size()) != 0) return nullptr;
  const absl::string_view method = absl::string_view(path).substr(kService.size());
  if (method == "EmptyCall") return std::make_shared<EmptyCall>(call);
  if (method == "UnaryCall" || method == "CacheableUnaryCall") return std::make_shared<UnaryCall>(call);
  if (method == "StreamingInputCall") return std::make_shared<StreamingInputCall>(call);
  if (method == "StreamingOutputCall" || method == "FullDuplexCall") return std::make_shared<StreamingOutputCall>(call);
  return nullptr;
}

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Run(int count, char** arguments) {
  std::shared_ptr<const TlsContext> tls;
  if (count == 3) {
    auto made = TlsContext::Create(ReadFile(arguments[1]), ReadFile(arguments[2]), "");
    if (!made.ok()) {
      std::cerr << made.status() << "\n";
      return 1;
    }
    tls = *std::move(made);
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 128) != 0) return 1;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Server server(2, ConnectionLimits(), Route);
  std::thread([&] {
    while (true) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      server.Serve(fd, "127.0.0.1", tls);
    }
  }).detach();
  std::cout << ntohs(address.sin_port) << std::endl;
  while (std::cin.get() != EOF) {
  }
  server.Stop(std::chrono::seconds(1));
  std::_Exit(0);  // the thread that accepts waits for ever
}

}  // namespace
}  // namespace corank::wire

int main(int count, char** arguments) { return corank::wire::Run(count, arguments); }
