// Calls keep arrays only if they succeed, and only within the memory promised to them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/good_requests.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

class CommitTest : public ::testing::Test {
 protected:
  // Starts a server that may keep this many bytes.
  void Start(int64_t kept_bytes) {
    Server::Options options = TestOptions();
    options.arrays.max_bytes = options.arrays.quota_bytes = kept_bytes;
    options.device_budget_bytes = kBudget;
    options.streams.max_device_bytes = 1 << 20;
    options.limits.max_chunk_bytes = kLarge;
    running_ = std::make_unique<RunningServer>(options);
  }
  static void KeepObjects(v1::LoadBalanceRequest& request, const std::string& name) {
    *request.mutable_counts() = Int64s({0, 0});  // their result is empty
    request.mutable_objects_destination()->mutable_stored()->set_name(name);
  }
  void Store(const std::string& name, int64_t bytes) {
    const std::string data(static_cast<size_t>(bytes), 'x');
    const v1::Array array = MakeArray(v1::ELEMENT_TYPE_UINT32, data.data(), data.size());
    const grpc::Status status = MemoryCalls(running_->channel()).Store(name, array, {kLarge / 4});
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  static void SortKept(v1::SortRequest& request, const std::string& name) {
    *request.mutable_keys() = Kept(name, v1::ELEMENT_TYPE_UINT32);
    *request.mutable_keys_destination() = ToStream(0);
  }

  static constexpr int64_t kBudget = 6 << 20, kLarge = 4 << 20;
  std::unique_ptr<RunningServer> running_;
};

TEST_F(CommitTest, ACallKeepsAllItsResultsOrNone) {
  Start(4096);  // room for one array
  v1::LoadBalanceRequest request;
  KeepObjects(request, "x");
  request.mutable_ranks_destination()->mutable_stored()->set_name("y");
  grpc::ClientContext context;
  v1::LoadBalanceResponse response;
  EXPECT_EQ(Call(running_->stub(), &context, request, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Eventually([this] { return running_->server().arrays().used_bytes() == 0; }));
}

TEST_F(CommitTest, APlanKeepsAllItsResultsOrNone) {
  Start(4096);
  v1::Plan plan;
  KeepObjects(*plan.add_operations()->mutable_load_balance(), "x");
  KeepObjects(*plan.add_operations()->mutable_load_balance(), "y");
  EXPECT_EQ(Execute(running_->stub(), plan, {}).status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Eventually([this] { return running_->server().arrays().used_bytes() == 0; }));
}

TEST_F(CommitTest, AKeptArrayInAPlanIsInItsBudget) {
  Start(64 << 20);
  Store("large", kLarge);
  v1::Plan plan;
  SortKept(*plan.add_operations()->mutable_sort(), "large");
  *plan.add_operations()->mutable_sort() = GoodSort();
  const grpc::Status status = Execute(running_->stub(), plan, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
}

TEST_F(CommitTest, AnArrayThatGrewBehindAPlanIsRefused) {
  Start(64 << 20);
  Store("grows", 40);
  grpc::ClientContext context;
  const auto call = running_->stub().Execute(&context);
  v1::ExecuteRequest request;
  SortKept(*request.mutable_plan()->add_operations()->mutable_sort(), "grows");
  call->Write(request);
  ASSERT_TRUE(Eventually([this] { return running_->server().jobs().jobs == 1; }));
  Store("grows", kLarge);
  call->WritesDone();
  v1::ExecuteResponse response;
  while (call->Read(&response)) {
  }
  const grpc::Status status = call->Finish();
  EXPECT_EQ(BadField(status), "plan.operations") << status.error_message();
}

}  // namespace
}  // namespace corank::testing
