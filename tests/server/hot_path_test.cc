// The cost of a request on a warm server: how often its payload is copied, and how much memory it allocates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/server_builder.h"
#include "server/rpc/request_id.h"
#include "server/rpc/response_slices.h"
#include "server/rpc/responses.h"
#include "tests/server/counted_allocations.h"
#include "tests/server/doubles.h"
#include "tests/server/messages.h"
#include "tests/server/moved_bytes.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;

constexpr int kCalls = 20;

class HotPathTest : public ::testing::Test {
 protected:
  explicit HotPathTest(const Server::Options& options = TestOptions()) {
    auto [puppet, engine] = MakePuppet();
    puppet_ = puppet;
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
  }
  // The memory of a response returns when gRPC is done with it.
  void AwaitPoolAtRest() {
    EXPECT_TRUE(Eventually([this] { return running_->server().host_pool().buffers_in_use() == 0; }));
  }
  void Sort(size_t keys) {
    std::vector<int32_t> numbers(keys, 7);
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(numbers);
    v1::SortResponse response;
    grpc::ClientContext context;
    const grpc::Status status = Call(running_->stub(), &context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.keys().inline_data(), request.keys().inline_data());
  }
  // The engine calls of `kCalls` calls, after some warm-up calls.
  std::vector<std::string> PhasesOf(size_t keys) {
    for (int i = 0; i < 3; ++i) Sort(keys);
    AwaitPoolAtRest();
    const size_t before = puppet_->phases().size();
    for (int i = 0; i < kCalls; ++i) {
      Sort(keys);
      AwaitPoolAtRest();
    }
    const std::vector<std::string> phases = puppet_->phases();
    return {phases.begin() + static_cast<ptrdiff_t>(before), phases.end()};
  }

  PuppetEngine* puppet_ = nullptr;
  std::unique_ptr<RunningServer> running_;
};

// No AllocateMemory (by the pool) and no AllocateHost (a copy on this side of the device): the payload goes from gRPC's
// slices to the pinned memory for the upload, and nowhere else.
TEST_F(HotPathTest, LargeRequestsAreCopiedOnceAndAllocateNothing) {
  const std::vector<std::string> phases = PhasesOf(250000);
  ASSERT_EQ(phases.size(), 8U * kCalls);
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_THAT(
        std::vector<std::string>(phases.begin() + 8 * i, phases.begin() + 8 * (i + 1)),
        ElementsAre("Begin", "Upload", "AllocateResult", "EndCopyIn", "Run", "EndKernels", "Download", "Finish"));
  }
  EXPECT_TRUE(puppet_->uploads_were_aligned());
}

TEST_F(HotPathTest, SmallRequestsAllocateNothingEither) {
  const std::vector<std::string> phases = PhasesOf(1000);
  EXPECT_EQ(phases.size(), 8U * kCalls);
  EXPECT_EQ(std::count(phases.begin(), phases.end(), "AllocateMemory"), 0);
  EXPECT_EQ(std::count(phases.begin(), phases.end(), "AllocateHost"), 0);
}

class MovedBytesTest : public HotPathTest {
 protected:
  MovedBytesTest() : HotPathTest(Options()) {}
  static Server::Options Options() {
    Server::Options options = TestOptions();
    options.streams.max_device_bytes = int64_t{64} << 20;  // one piece holds everything
    return options;
  }
  // Runs a call whose client copies nothing, and waits until the server is done with it.
  void Run(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
    grpc::ClientContext context;
    const grpc::Status status = call(&context);
    ASSERT_TRUE(status.ok()) << status.error_message();
    AwaitPoolAtRest();
  }
  Moved Measure(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
    return MeasureMoved(*puppet_, kCalls, [&] { Run(call); });
  }
  static grpc::ByteBuffer Message(const google::protobuf::Message& message) {
    const grpc::Slice slice(message.SerializeAsString());
    return grpc::ByteBuffer(&slice, 1);
  }
  // Expects that `bytes` of payload go in and come out with one copy. Another copy would be of a whole array or more.
  void ExpectOneCopy(int64_t bytes, const Moved& moved) {
    constexpr int64_t kHeads = 64 << 10, kHalfACopy = kArrayBytes / 2;
    EXPECT_EQ(moved.payload_bytes, bytes);
    EXPECT_LT(moved.copied_bytes, kHeads);
    EXPECT_LT(moved.allocated_bytes, 2 * bytes + kHalfACopy);
  }
  // `bytes`: of all arrays of the message. `result_bytes`: of those of the response.
  void ExpectOneCopyOf(const std::string& method, int64_t bytes, int64_t result_bytes,
                       const google::protobuf::Message& message) {
    SCOPED_TRACE(method);
    const grpc::ByteBuffer request = Message(message);
    ExpectOneCopy(bytes, Measure([&](grpc::ClientContext* context) {
                    grpc::ByteBuffer response;
                    const grpc::Status status =
                        CallRaw(running_->channel(), "/corank.v1.CorankService/" + method, context, request, &response);
                    EXPECT_GT(response.Length(), result_bytes);
                    return status;
                  }));
    const std::vector<std::string> phases = puppet_->phases();
    const auto warm = phases.end() - static_cast<ptrdiff_t>(phases.size() / 2);
    EXPECT_EQ(std::count(warm, phases.end(), "AllocateMemory"), 0);
    EXPECT_EQ(std::count(warm, phases.end(), "AllocateHost"), 0);
  }

  static constexpr int64_t kArrayBytes = 1'200'000;  // so large that helpers take a part
  static constexpr int64_t kOffsetBytes = 8;
  const std::vector<int32_t> numbers_ = std::vector<int32_t>(kArrayBytes / 4, 7);
};

TEST_F(MovedBytesTest, PayloadsOfASortAreCopiedOnce) {
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(numbers_);
  ExpectOneCopyOf("Sort", kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfASortWithValuesAreCopiedOnce) {
  v1::SortRequest request;
  *request.mutable_keys() = *request.mutable_values() = Int32s(numbers_);
  ExpectOneCopyOf("Sort", 2 * kArrayBytes, 2 * kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAMergeAreCopiedOnce) {
  v1::MergeRequest request;
  for (int i = 0; i < 2; ++i) *request.add_keys() = Int32s(numbers_);
  ExpectOneCopyOf("Merge", 2 * kArrayBytes, 2 * kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfASearchAreCopiedOnce) {
  v1::SearchRequest request;
  *request.mutable_haystack() = *request.mutable_needles() = Int32s(numbers_);
  ExpectOneCopyOf("Search", 2 * kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAGatherAreCopiedOnce) {
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Int32s(numbers_);
  *request.mutable_source_offsets() = Int64s({0});
  *request.mutable_counts() = Int64s({kArrayBytes / 4});
  ExpectOneCopyOf("GatherIntervals", kArrayBytes + 2 * kOffsetBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAMoveAreCopiedOnce) {
  v1::MoveIntervalsRequest request;
  *request.mutable_source() = *request.mutable_destination() = Int32s(numbers_);
  *request.mutable_source_offsets() = *request.mutable_destination_offsets() = Int64s({0});
  *request.mutable_counts() = Int64s({kArrayBytes / 4});
  ExpectOneCopyOf("MoveIntervals", 2 * kArrayBytes + 3 * kOffsetBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAnExpandAreCopiedOnce) {
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s(numbers_);
  *request.mutable_counts() = Int64s(std::vector<int64_t>(kArrayBytes / 4, 1));
  ExpectOneCopyOf("ExpandIntervals", 3 * kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, ChunksOfAStreamedSortAreCopiedOnce) {
  std::vector<grpc::ByteBuffer> requests;
  v1::ExecuteRequest plan;
  *plan.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_INT32, kArrayBytes / 4);
  requests.push_back(Message(plan));
  const std::string bytes(reinterpret_cast<const char*>(numbers_.data()), kArrayBytes);
  for (const v1::ExecuteRequest& chunk : Chunks({{0, 4, bytes}}, 20'000)) requests.push_back(Message(chunk));
  ExpectOneCopy(kArrayBytes, Measure([&](grpc::ClientContext* context) {
                  std::vector<grpc::ByteBuffer> responses;
                  const grpc::Status status =
                      CallRaw(running_->channel(), "/corank.v1.CorankService/Execute", context, requests, &responses);
                  size_t came = 0;
                  for (const grpc::ByteBuffer& response : responses) came += response.Length();
                  EXPECT_GT(came, kArrayBytes);
                  return status;
                }));
}

// A target that only keeps memory.
class KeepingTarget final : public ResultTarget {
 public:
  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t) override { return absl::InternalError("not called"); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }
};

TEST(ResponseSlicesTest, LargeResultsLeaveFromWhereTheyLie) {
  const std::string bytes(kCopiedResultBytes + 4, 'x');
  auto target = std::make_shared<KeepingTarget>();
  const std::weak_ptr<KeepingTarget> kept = target;
  grpc::ByteBuffer buffer;
  {
    Outcome outcome;
    outcome.results.push_back(
        {ResultRole::kKeys, v1::ELEMENT_TYPE_UINT32, 4, kCopiedResultBytes / 4 + 1, bytes.data(), std::move(target)});
    buffer = EncodeResponse<v1::SortResponse>(outcome);
  }
  EXPECT_FALSE(kept.expired());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(buffer.Dump(&slices).ok());
  const auto is_result = [&bytes](const grpc::Slice& slice) {
    return static_cast<const void*>(slice.begin()) == bytes.data() && slice.size() == bytes.size();
  };
  EXPECT_EQ(std::count_if(slices.begin(), slices.end(), is_result), 1);
  slices.clear();
  buffer.Clear();
  EXPECT_TRUE(kept.expired()) << "gRPC gives the memory back when it is through";
}

// Counts the allocations for finding a call's id.
class IdService final : public v1::CorankService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const v1::GetServerInfoRequest*,
                                          v1::GetServerInfoResponse*) override {
    // gRPC offers no access to metadata except its map, which it makes on the first access.
    const int64_t first = ThreadAllocations();
    entries = static_cast<int64_t>(context->client_metadata().size());
    const int64_t second = ThreadAllocations();
    const CallId id = IdOf(*context);
    of_id = std::min(of_id, ThreadAllocations() - second);
    of_map = second - first;
    has_trace = !id.trace.empty();
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Read these after the call.
  int64_t entries = 0;
  int64_t of_map = 0;
  int64_t of_id = 1000;  // the minimum: a thread's first call creates its random generator
  bool has_trace = false;
};

TEST(RequestIdTest, TakesOneAllocationForTheIdAndNoneForTheTrace) {
  for (const bool traced : {false, true}) {
    IdService service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    const auto stub = v1::CorankService::NewStub(Connect("127.0.0.1:" + std::to_string(port)));
    for (int i = 0; i < kCalls; ++i) {
      grpc::ClientContext context;
      if (traced) context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
      v1::GetServerInfoResponse response;
      ASSERT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());
      EXPECT_EQ(service.has_trace, traced);
      EXPECT_EQ(service.of_map, service.entries) << "gRPC's map has a node for each entry";
    }
    EXPECT_EQ(service.of_id, 1) << "16 digits are one more than a string holds in itself";
    EXPECT_LE(service.entries, traced ? 3 : 2);
  }
}

}  // namespace
}  // namespace corank::testing
