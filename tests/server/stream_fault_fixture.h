// Streams whose messages a test sends and reads one by one, against a server with little memory.
#ifndef CORANK_TESTS_SERVER_STREAM_FAULT_FIXTURE_H_
#define CORANK_TESTS_SERVER_STREAM_FAULT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {

inline constexpr v1::ElementType kUint32 = v1::ELEMENT_TYPE_UINT32;

/// Little memory and little patience.
inline Server::Options SmallWindow() {
  Server::Options options = TestOptions();
  options.long_lanes = 2;
  options.limits.max_chunk_bytes = 4 << 10;
  options.streams.window_bytes = 32 << 10;
  options.streams.piece_bytes = 8 << 10;
  options.streams.max_device_bytes = 1 << 20;
  options.streams.max_host_bytes = 4 << 20;
  options.streams.part_patience = absl::Milliseconds(300);
  return options;
}

inline std::string Elements(int64_t count) {
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, 1);
  return {keys.begin(), keys.end()};
}

/// A call whose messages the test sends and reads one by one.
class OpenCall {
 public:
  explicit OpenCall(v1::CorankService::Stub& stub, std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    call_ = stub.Execute(&context_);
  }
  void Send(const v1::Plan& plan) {
    v1::ExecuteRequest request;
    *request.mutable_plan() = plan;
    call_->Write(request);
  }
  bool Send(const v1::ExecuteRequest& request) { return call_->Write(request); }
  void HalfClose() { call_->WritesDone(); }
  bool Read(v1::ExecuteResponse* response) { return call_->Read(response); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    v1::ExecuteResponse ignored;
    while (call_->Read(&ignored)) {
    }
    return call_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> call_;
};

/// Sends a whole sort, in chunks of this many elements. Makes the chunks first, because a started job must not stall.
inline void SendSort(OpenCall& call, int64_t count, int64_t chunk_elements) {
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, Elements(count)}}, chunk_elements);
  call.Send(SortPlan(kUint32, count));
  for (const v1::ExecuteRequest& chunk : chunks) call.Send(chunk);
  call.HalfClose();
}

/// Each test must leave nothing behind.
class StreamFaultTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ExpectAllFreed();
    const std::string keys = Elements(5000);
    EXPECT_TRUE(Execute(stub(), SortPlan(kUint32, 5000), Chunks({{0, 4, keys}}, 1000)).status.ok())
        << "the next good call fails";
    ExpectAllFreed();
  }
  void ExpectAllFreed() { testing::ExpectAllFreed(server()); }
  void ExpectRefused(const grpc::Status& status, const std::string& field, const std::string& text = "") {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(BadField(status), field) << status.error_message();
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr(text));
  }
  // ABORTED because `part` ended with this reason.
  void ExpectLost(const grpc::Status& status, int part, const std::string& cause) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED) << status.error_message();
    const wire::v1::ErrorInfo info = InfoOf(status);
    EXPECT_EQ(info.reason(), "JOB_PART_LOST");
    EXPECT_EQ(info.metadata().at("part"), std::to_string(part)) << status.error_message();
    EXPECT_EQ(info.metadata().at("cause"), cause) << status.error_message();
  }
  std::string Reason(const grpc::Status& status) { return InfoOf(status).reason(); }
  v1::CorankService::Stub& stub() { return running_.stub(); }
  Server& server() { return running_.server(); }

  RunningServer running_{SmallWindow()};
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_STREAM_FAULT_FIXTURE_H_
