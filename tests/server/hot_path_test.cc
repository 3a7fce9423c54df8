// The cost of a request on a warm server: how often its payload is copied, and how much memory it allocates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  // The memory of a response returns when it was sent.
  void AwaitPoolAtRest() {
    EXPECT_TRUE(Eventually([this] { return running_->server().host_pool().bytes_in_use() == 0; }));
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

// No AllocateMemory (by the pool) and no AllocateHost (a copy on this side of the device): the payload goes from the
// socket to the pinned memory for the upload, and nowhere else.
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
  // Expects that of `bytes` of payload at most `copied` are copied. Another copy would be of a whole array or more.
  void ExpectCopied(int64_t copied, int64_t bytes, const Moved& moved) {
    constexpr int64_t kHeads = 64 << 10, kHalfACopy = kArrayBytes / 2;
    EXPECT_LT(moved.payload_bytes + moved.copied_bytes, copied + kHeads);
    EXPECT_LT(moved.allocated_bytes, 2 * bytes + kHalfACopy);
  }
  // `bytes`: of all arrays of the message. `result_bytes`: of those of the response.
  void ExpectMostInPlace(const std::string& method, int64_t bytes, int64_t result_bytes,
                         const google::protobuf::Message& message) {
    SCOPED_TRACE(method);
    const grpc::ByteBuffer request = Message(message);
    // What comes with the heads, and between the frames of long arrays, waits in the loop's buffer.
    ExpectCopied(bytes / 2, bytes, Measure([&](grpc::ClientContext* context) {
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

TEST_F(MovedBytesTest, PayloadsOfASortAreReceivedInPlace) {
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(numbers_);
  ExpectMostInPlace("Sort", kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfASortWithValuesAreReceivedInPlace) {
  v1::SortRequest request;
  *request.mutable_keys() = *request.mutable_values() = Int32s(numbers_);
  ExpectMostInPlace("Sort", 2 * kArrayBytes, 2 * kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAMergeAreReceivedInPlace) {
  v1::MergeRequest request;
  for (int i = 0; i < 2; ++i) *request.add_keys() = Int32s(numbers_);
  ExpectMostInPlace("Merge", 2 * kArrayBytes, 2 * kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfASearchAreReceivedInPlace) {
  v1::SearchRequest request;
  *request.mutable_haystack() = *request.mutable_needles() = Int32s(numbers_);
  ExpectMostInPlace("Search", 2 * kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAGatherAreReceivedInPlace) {
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Int32s(numbers_);
  *request.mutable_source_offsets() = Int64s({0});
  *request.mutable_counts() = Int64s({kArrayBytes / 4});
  ExpectMostInPlace("GatherIntervals", kArrayBytes + 2 * kOffsetBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAMoveAreReceivedInPlace) {
  v1::MoveIntervalsRequest request;
  *request.mutable_source() = *request.mutable_destination() = Int32s(numbers_);
  *request.mutable_source_offsets() = *request.mutable_destination_offsets() = Int64s({0});
  *request.mutable_counts() = Int64s({kArrayBytes / 4});
  ExpectMostInPlace("MoveIntervals", 2 * kArrayBytes + 3 * kOffsetBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, PayloadsOfAnExpandAreReceivedInPlace) {
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s(numbers_);
  *request.mutable_counts() = Int64s(std::vector<int64_t>(kArrayBytes / 4, 1));
  ExpectMostInPlace("ExpandIntervals", 3 * kArrayBytes, kArrayBytes, request);
}

TEST_F(MovedBytesTest, ChunksOfAStreamedSortAreRarelyCopiedTwice) {
  std::vector<grpc::ByteBuffer> requests;
  v1::ExecuteRequest plan;
  *plan.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_INT32, kArrayBytes / 4);
  requests.push_back(Message(plan));
  const std::string bytes(reinterpret_cast<const char*>(numbers_.data()), kArrayBytes);
  for (const v1::ExecuteRequest& chunk : Chunks({{0, 4, bytes}}, 20'000)) requests.push_back(Message(chunk));
  // Chunks that come before they are wanted wait in a buffer of their own.
  ExpectCopied(3 * kArrayBytes / 2, kArrayBytes, Measure([&](grpc::ClientContext* context) {
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
  Bytes encoded;
  {
    Outcome outcome;
    outcome.results.push_back(
        {ResultRole::kKeys, v1::ELEMENT_TYPE_UINT32, 4, kCopiedResultBytes / 4 + 1, bytes.data(), std::move(target)});
    encoded = EncodeResponse<v1::SortResponse>(outcome);
  }
  EXPECT_FALSE(kept.expired());
  const auto is_result = [&bytes](const Piece& piece) {
    return piece.data == bytes.data() && piece.size == bytes.size();
  };
  EXPECT_EQ(std::count_if(encoded.pieces().begin(), encoded.pieces().end(), is_result), 1);
  encoded = Bytes();
  EXPECT_TRUE(kept.expired()) << "whoever sends it gives the memory back";
}

TEST(RequestIdTest, TakesOneAllocationForTheIdAndNoneForTheTrace) {
  for (const bool traced : {false, true}) {
    wire::CallHead head;
    if (traced) head.metadata.Add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    IdOf(head);  // a thread's first call creates its random generator
    const int64_t before = ThreadAllocations();
    const CallId id = IdOf(head);
    EXPECT_EQ(ThreadAllocations() - before, 1) << "16 digits are one more than a string holds in itself";
    EXPECT_EQ(!id.trace.empty(), traced);
  }
}

}  // namespace
}  // namespace corank::testing
