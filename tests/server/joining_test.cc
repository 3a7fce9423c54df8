// Jobs whose parts wait for each other: they hold no memory, one caller can have only few of them, and none remains
// after its calls are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

constexpr int64_t kCount = 1000;
constexpr v1::ElementType kUint32 = v1::ELEMENT_TYPE_UINT32;

std::string Elements(int64_t count) {
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, 1);
  return {keys.begin(), keys.end()};
}

v1::Plan PartOf(const std::string& job, uint32_t part, uint32_t parts = 2) {
  v1::Plan plan = SortPlan(kUint32, kCount);
  plan.set_job_id(job);
  plan.set_part(part);
  plan.set_parts(parts);
  return plan;
}

// A call that has sent its plan.
class PlannedCall {
 public:
  PlannedCall(v1::CorankService::Stub& stub, const v1::Plan& plan) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    call_ = stub.Execute(&context_);
    v1::ExecuteRequest request;
    *request.mutable_plan() = plan;
    call_->Write(request);
  }
  void Cancel() { context_.TryCancel(); }
  // Sends the elements from `first` on and reads the response.
  grpc::Status Finish(int64_t first = 0, const std::string& elements = "") {
    if (!elements.empty()) call_->Write(Chunk(0, first, elements));
    call_->WritesDone();
    v1::ExecuteResponse response;
    while (call_->Read(&response)) {
      if (response.has_chunk()) received_ += response.chunk().data().size();
    }
    return call_->Finish();
  }
  size_t received() const { return received_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> call_;
  size_t received_ = 0;
};

class JoiningTest : public ::testing::Test {
 protected:
  ~JoiningTest() override {
    EXPECT_TRUE(Eventually([&] {
      return server().active_calls() == 0 && server().jobs().jobs == 0 && server().jobs().joining_jobs == 0 &&
             server().host_pool().promised_bytes() == 0;
    })) << server().jobs().joining_jobs
        << " joining, " << server().host_pool().promised_bytes() << " bytes promised";
  }
  // A stream of two parts has 4 KiB for a chunk of each part, and 4 KiB for a tile of the output.
  static Server::Options Options() {
    Server::Options options = TestOptions();
    options.limits.max_chunk_bytes = 4 << 10;
    options.streams.window_bytes = 32 << 10;
    options.streams.max_joining_jobs = 32;
    options.streams.part_patience = absl::Hours(1);
    options.host_pool.max_bytes = 32 << 10;
    options.arrays.max_bytes = 1 << 20;
    options.arrays.quota_bytes = 6 << 10;
    return options;
  }
  Server& server() { return running_.server(); }
  v1::CorankService::Stub& stub() { return running_.stub(); }
  std::unique_ptr<PlannedCall> Start(const v1::Plan& plan) { return std::make_unique<PlannedCall>(stub(), plan); }
  bool AwaitJoining(int64_t jobs) {
    return Eventually([&] { return server().jobs().joining_jobs == jobs; });
  }
  // Expects two parts that each send a half to get the sorted result.
  void ExpectSorted(PlannedCall& first, PlannedCall& second) {
    const std::string keys = Elements(kCount);
    std::thread other([&] {
      const grpc::Status status = second.Finish(kCount / 2, keys.substr(keys.size() / 2));
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
    const grpc::Status status = first.Finish(0, keys.substr(0, keys.size() / 2));
    EXPECT_TRUE(status.ok()) << status.error_message();
    other.join();
  }
  static void ExpectShort(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration()) << status.error_message();
  }

  RunningServer running_{Options(), ReachEngine()};
};

TEST_F(JoiningTest, JobsThatWaitHaveNoMemory) {
  std::vector<std::unique_ptr<PlannedCall>> waiting;
  for (int i = 0; i < 6; ++i) waiting.push_back(Start(PartOf("job" + std::to_string(i), 0)));
  ASSERT_TRUE(AwaitJoining(6));
  EXPECT_EQ(server().host_pool().promised_bytes(), 0);
  EXPECT_TRUE(Execute(stub(), SortPlan(kUint32, kCount), Chunks({{0, 4, Elements(kCount)}}, 500)).status.ok());
  for (int i = 0; i < 6; ++i) {
    const auto second = Start(PartOf("job" + std::to_string(i), 1));
    ExpectSorted(*waiting[static_cast<size_t>(i)], *second);
    EXPECT_EQ(waiting[static_cast<size_t>(i)]->received() + second->received(), kCount * 4U);
  }
}

TEST_F(JoiningTest, AJobWhoseCallIsGoneIsForgotten) {
  for (int round = 0; round < 3; ++round) {
    const auto gone = Start(PartOf("job", 0));
    ASSERT_TRUE(AwaitJoining(1));
    gone->Cancel();
    EXPECT_EQ(gone->Finish().error_code(), grpc::StatusCode::CANCELLED);
    ASSERT_TRUE(AwaitJoining(0));
  }
  const auto first = Start(PartOf("job", 0)), second = Start(PartOf("job", 1));
  ExpectSorted(*first, *second);
}

TEST_F(JoiningTest, ATenantHasAQuarterOfThePlaces) {
  std::vector<std::unique_ptr<PlannedCall>> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(Start(PartOf("job" + std::to_string(i), 0)));
  ASSERT_TRUE(AwaitJoining(8));
  ExpectShort(Start(PartOf("more", 0))->Finish());
  const auto second = Start(PartOf("job3", 1));
  ExpectSorted(*waiting[3], *second);
  const auto next = Start(PartOf("more", 0));
  ASSERT_TRUE(AwaitJoining(8));
  for (const auto& call : waiting) call->Cancel();
  next->Cancel();
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (i == 3) continue;
    EXPECT_EQ(waiting[i]->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_EQ(next->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(JoiningTest, AllPartsLearnThatThereIsNoMemory) {
  std::vector<std::unique_ptr<PlannedCall>> others;
  for (const int64_t promised : {16 << 10, 24 << 10}) {  // the first one grows into half of the pool
    others.push_back(Start(SortPlan(kUint32, kCount)));
    ASSERT_TRUE(Eventually([&] { return server().host_pool().promised_bytes() == promised; }));
  }
  {
    const auto first = Start(PartOf("job", 0)), second = Start(PartOf("job", 1));
    ExpectShort(first->Finish());
    ExpectShort(second->Finish());
  }
  EXPECT_TRUE(Eventually([&] { return server().jobs().jobs == 2; }));
  for (const auto& other : others) EXPECT_TRUE(other->Finish(0, Elements(kCount)).ok());
  EXPECT_TRUE(Eventually([&] { return server().host_pool().promised_bytes() == 0; }));
  const auto first = Start(PartOf("job", 0)), second = Start(PartOf("job", 1));
  ExpectSorted(*first, *second);
}

TEST_F(JoiningTest, PartsTakeTheRoomForWhatIsKeptOnce) {
  v1::Plan first_plan = PartOf("job", 0), second_plan = PartOf("job", 1);
  for (v1::Plan* plan : {&first_plan, &second_plan}) {
    plan->mutable_operations(0)->mutable_sort()->mutable_keys_destination()->mutable_stored()->set_name("kept");
  }
  const auto first = Start(first_plan);
  ASSERT_TRUE(AwaitJoining(1));
  EXPECT_EQ(server().arrays().used_bytes(), 0);
  const auto second = Start(second_plan);  // the quota has no room for both
  ExpectSorted(*first, *second);
  EXPECT_EQ(server().arrays().used_bytes(), ArrayStore::kLeastCharge);
}

}  // namespace
}  // namespace corank::testing
