// Memory runs out on gRPC's threads: the call fails, and nobody waits for it. std::length_error replaces
// std::bad_alloc, which sanitizers do not allow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/raw_stream.h"
#include "corank/client.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"

namespace corank::client {
namespace {

using ::testing::HasSubstr;

class ShortMemory : public ::testing::Test {
 protected:
  ShortMemory() {
    service_.info = InfoOfAllPlaces();
    options_.address = server_.address();
  }

  PuppetService service_;
  PuppetServer server_{&service_};
  ClientOptions options_;
};

TEST_F(ShortMemory, AStreamedResultThatIsTooLargeForItFailsWhenItsFirstChunkComes) {
  service_.on_execute = [](grpc::ServerContext* context, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    v1::ExecuteResponse response;
    response.mutable_chunk()->set_first_element(request.plan().part());
    response.mutable_chunk()->set_data(std::string(256, 'x'));
    stream->Write(response);
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  const absl::StatusOr<Client> client = Client::Create(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<int64_t> counts = {(int64_t{1} << 55) - 1};  // the most that a request may ask for
  const std::string value(256, 'x');
  ExpandRequest request;
  request.values = {ElementType::Record(256), value};
  request.counts = counts;
  for (const int connections : {1, 3}) {
    CallOptions call;
    call.place = Place::kStream;
    call.connections = connections;
    call.deadline = absl::Hours(1);  // until which the call would wait if something held it
    const absl::Status status = client->ExpandIntervals(request, call).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("not enough memory here for ", counts[0] * 256, " bytes of values")));
  }
}

/// Runs out of memory when it sends message number `send` (from 0), or when it receives one.
class Forgetful final : public StreamEvents {
 public:
  explicit Forgetful(int send) : send_(send) {}

  std::optional<grpc::ByteBuffer> Next() override {
    if (send_ == sent_) throw std::bad_alloc();
    if (sent_++ > 0) return std::nullopt;
    const grpc::Slice slice("");
    return grpc::ByteBuffer(&slice, 1);
  }
  absl::Status Take(grpc::ByteBuffer*) override { throw std::length_error("too long"); }
  void Done(const Attempt&) override {}

 private:
  const int send_;
  int sent_ = 0;
};

TEST_F(ShortMemory, WhatAStreamThrowsIsItsOutcome) {
  service_.on_execute = [](grpc::ServerContext* context, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    stream->Read(&request);
    stream->Write(v1::ExecuteResponse());
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  Connection connection(options_, *Credentials::Create(options_));
  for (const int send : {-1, 0, 1}) {
    Forgetful events(send);
    const Attempt attempt = RunStream(&connection, "/corank.v1.CorankService/Execute", absl::Now() + absl::Seconds(10),
                                      CallOptions(), &events);
    EXPECT_TRUE(absl::IsResourceExhausted(attempt.status)) << send << ": " << attempt.status;
    EXPECT_THAT(std::string(attempt.status.message()), HasSubstr("not enough memory here"));
  }
}

}  // namespace
}  // namespace corank::client
