// The concurrency of a streamed sort: it sorts while it receives, sends while it merges, and accepts no more from its
// caller than its windows hold.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/faulty_engine.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kCount = 40000;
constexpr absl::Duration kPatience = absl::Seconds(60);

// The parameter is the device memory for one request, which decides whether the runs stay there.
class StreamOverlapTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static Server::Options SmallPieces() {
    Server::Options options = TestOptions();
    options.long_lanes = 1;
    options.limits.max_chunk_bytes = 8 << 10;
    options.streams.window_bytes = 64 << 10;
    options.streams.piece_bytes = 20000;
    options.streams.max_device_bytes = GetParam();
    return options;
  }

  explicit StreamOverlapTest(const Server::Options& options = SmallPieces())
      : running_(options, {Faulty(CpuEngine().engine, plan_), "a test looks at its calls"}) {}

  // The chunks of `count` keys.
  std::vector<v1::ExecuteRequest> MakeChunks(int64_t count, int64_t chunk_elements,
                                             Distribution distribution = Distribution::kUniform) {
    const Bytes keys = MakeKeys(KeyType::kUint32, distribution, count, 7);
    const Bytes sorted = Gather(keys, 4, StableOrder(KeyType::kUint32, Order::kAscending, keys));
    sorted_.assign(sorted.begin(), sorted.end());
    return Chunks({{0, 4, {keys.begin(), keys.end()}}}, chunk_elements);
  }
  // Starts the call that sorts them.
  void Begin(int64_t count) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(3));
    call_ = running_.stub().Execute(&context_);
    v1::ExecuteRequest first;
    *first.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_UINT32, count);
    ASSERT_TRUE(call_->Write(first));
  }
  // Reads the rest of the response.
  void ExpectSorted(std::string keys) {
    v1::ExecuteResponse response;
    while (call_->Read(&response)) keys += response.chunk().data();
    const grpc::Status status = call_->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(keys == sorted_);
  }

  const std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  RunningServer running_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> call_;
  std::string sorted_;
};

INSTANTIATE_TEST_SUITE_P(Memory, StreamOverlapTest, ::testing::Values(int64_t{64} << 20, int64_t{64} << 10),
                         [](const auto& memory) { return memory.param > (1 << 20) ? "InCore" : "OutOfCore"; });

TEST_P(StreamOverlapTest, PiecesAreSortedBeforeTheLastChunkComes) {
  plan_->AtCall("Sort", 0, nullptr);  // only counts
  const std::vector<v1::ExecuteRequest> chunks = MakeChunks(kCount, 1000);
  Begin(kCount);
  for (size_t i = 0; i + 1 < chunks.size(); ++i) ASSERT_TRUE(call_->Write(chunks[i]));
  // A piece is at most an eighth of the array, and the last chunk is smaller.
  EXPECT_TRUE(Eventually([this] { return plan_->calls() >= 7; })) << plan_->calls() << " pieces sorted";
  ASSERT_TRUE(call_->Write(chunks.back()));
  call_->WritesDone();
  ExpectSorted("");
}

TEST_P(StreamOverlapTest, TheAnswerBeginsBeforeItsMergeEnds) {
  const std::vector<v1::ExecuteRequest> chunks = MakeChunks(kCount, 1000);
  plan_->AtCall("Merge", 0, nullptr);  // only counts
  ASSERT_TRUE(Execute(running_.stub(), SortPlan(v1::ELEMENT_TYPE_UINT32, kCount), chunks).status.ok());
  const int64_t merges = plan_->calls();
  ASSERT_GE(merges, 6);
  absl::Notification has_begun;
  std::atomic<bool> in_time{false};
  plan_->AtCall("Merge", merges, [&] { in_time = has_begun.WaitForNotificationWithTimeout(kPatience); });
  Begin(kCount);
  for (const v1::ExecuteRequest& chunk : chunks) ASSERT_TRUE(call_->Write(chunk));
  call_->WritesDone();
  v1::ExecuteResponse response;
  ASSERT_TRUE(call_->Read(&response));
  has_begun.Notify();
  ExpectSorted(response.chunk().data());
  EXPECT_TRUE(in_time) << "the last tile was merged before the first one had come";
}

// Chunks and windows so large that the contents of sockets hardly matter.
class StreamWindowTest : public StreamOverlapTest {
 protected:
  static Server::Options LargeChunks() {
    Server::Options options = SmallPieces();
    options.limits.max_chunk_bytes = 256 << 10;
    options.streams.window_bytes = 1 << 20;
    options.streams.piece_bytes = 1 << 20;
    return options;
  }
  StreamWindowTest() : StreamOverlapTest(LargeChunks()) {}
};

INSTANTIATE_TEST_SUITE_P(Memory, StreamWindowTest, ::testing::Values(int64_t{1} << 30),
                         [](const auto&) { return "InCore"; });

TEST_P(StreamWindowTest, ASenderStandsStillWhileNothingIsSorted) {
  constexpr int64_t kKeys = int64_t{6} << 20, kChunk = 64 << 10;
  absl::Notification goes_on;
  plan_->AtCall("Sort", 1, [&] { goes_on.WaitForNotificationWithTimeout(kPatience); });
  const std::vector<v1::ExecuteRequest> chunks = MakeChunks(kKeys, kChunk, Distribution::kSixteenDistinct);
  Begin(kKeys);
  std::atomic<size_t> sent{0};
  std::thread sender([&] {
    for (const v1::ExecuteRequest& chunk : chunks) {
      if (!call_->Write(chunk)) return;
      ++sent;
    }
    call_->WritesDone();
  });
  size_t seen = 0;
  EXPECT_TRUE(Eventually([&] {
    absl::SleepFor(absl::Milliseconds(500));
    return std::exchange(seen, sent.load()) == sent && sent > 0;
  }));
  EXPECT_LT(seen, chunks.size() / 2) << "of 24 MiB, beside a window of 1 MiB";
  goes_on.Notify();
  ExpectSorted("");
  sender.join();
  EXPECT_EQ(sent, chunks.size());
}

}  // namespace
}  // namespace corank::testing
