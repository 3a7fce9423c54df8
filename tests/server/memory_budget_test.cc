// Budgets of pinned memory, device memory and kept arrays. A request gets its memory before it is admitted, or is
// refused with a RetryInfo. Once admitted it succeeds, however full the budgets are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "corank/v1/memory_service.grpc.pb.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr v1::ElementType kUint32 = v1::ELEMENT_TYPE_UINT32;

std::string Elements(int64_t count) {
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, 1);
  return {keys.begin(), keys.end()};
}

std::string Sorted(std::string elements) {
  auto* const begin = reinterpret_cast<uint32_t*>(elements.data());
  const size_t count = elements.size() / sizeof(uint32_t);
  std::sort(begin, begin + count);
  return elements;
}

v1::SortRequest SortRequestOf(const std::string& elements, const std::string& kept_as = "") {
  v1::SortRequest request;
  *request.mutable_keys() = MakeArray(kUint32, elements.data(), elements.size());
  if (!kept_as.empty()) request.mutable_keys_destination()->mutable_stored()->set_name(kept_as);
  return request;
}

// A call on its own thread.
class PendingSort {
 public:
  PendingSort(v1::CorankService::Stub& stub, v1::SortRequest request,
              std::chrono::milliseconds deadline = std::chrono::minutes(1))
      : request_(std::move(request)) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    ended_ = std::async(std::launch::async, [this, &stub] { return stub.Sort(&context_, request_, &response_); });
  }
  ~PendingSort() { Cancel(); }  // also if the test gave up on it
  void Cancel() { context_.TryCancel(); }
  grpc::Status Wait() { return ended_.get(); }

 private:
  grpc::ClientContext context_;
  const v1::SortRequest request_;
  v1::SortResponse response_;
  std::future<grpc::Status> ended_;
};

// A stream whose messages the test sends one by one.
class OpenStream {
 public:
  OpenStream(v1::CorankService::Stub& stub, const v1::Plan& plan) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    call_ = stub.Execute(&context_);
    v1::ExecuteRequest request;
    *request.mutable_plan() = plan;
    call_->Write(request);
  }
  bool Send(const v1::ExecuteRequest& request) { return call_->Write(request); }
  void Cancel() { context_.TryCancel(); }
  // Sends the rest, reads everything, and appends the data of the response.
  grpc::Status Finish(const std::vector<v1::ExecuteRequest>& chunks = {}, std::string* answer = nullptr) {
    std::thread writer([&] {
      for (const v1::ExecuteRequest& chunk : chunks) {
        if (!call_->Write(chunk)) break;
      }
      call_->WritesDone();
    });
    v1::ExecuteResponse response;
    while (call_->Read(&response)) {
      if (answer != nullptr && response.has_chunk()) *answer += response.chunk().data();
    }
    writer.join();
    return call_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> call_;
};

class MemoryBudgetTest : public ::testing::Test {
 protected:
  ~MemoryBudgetTest() override {
    if (puppet_ != nullptr) puppet_->Release();
    ExpectAllGivenBack(0);
  }

  void Start(const Server::Options& options) { running_ = std::make_unique<RunningServer>(options); }
  void StartPuppet(Server::Options options, PuppetEngine::Script script = nullptr) {
    auto [puppet, engine] = MakePuppet(std::move(script));
    puppet_ = puppet;
    options.queue.direct_bytes = 0;  // all requests go to the lane
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
  }
  Server& server() const { return running_->server(); }
  v1::CorankService::Stub& stub() const { return running_->stub(); }

  void ExpectAllGivenBack(int64_t kept_bytes) {
    EXPECT_TRUE(Eventually([&] {
      return server().active_calls() == 0 && server().host_pool().promised_bytes() == 0 &&
             server().jobs().memory_in_use == 0 && server().waiting_requests() == 0 &&
             (kept_bytes == 0 || server().arrays().used_bytes() == kept_bytes);
    })) << server().active_calls()
        << " calls, " << server().host_pool().promised_bytes() << " bytes promised, " << server().arrays().used_bytes()
        << " bytes kept";
  }
  double RefusedForMemory() const { return Refused("memory"); }
  double Refused(const std::string& reason) const { return MetricOf(server(), "corank_refused_total", reason); }
  static void ExpectShort(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration()) << status.error_message();
  }

  PuppetEngine* puppet_ = nullptr;
  std::unique_ptr<RunningServer> running_;
};

using PinnedBudget = MemoryBudgetTest;

TEST_F(PinnedBudget, WhatIsAdmittedSucceedsAndWhatIsRefusedIsCountedAndToldWhenToRetry) {
  Server::Options options = TestOptions();
  options.lanes = 2;
  options.host_pool.max_bytes = 1 << 20;
  Start(options);
  const std::string keys = Elements(25'000);  // about four requests and their responses fill the pool
  const std::string sorted = Sorted(keys);
  std::atomic<int> answered{0}, refused{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        grpc::ClientContext context;
        v1::SortResponse response;
        const grpc::Status status = stub().Sort(&context, SortRequestOf(keys), &response);
        if (status.ok()) {
          EXPECT_EQ(response.keys().inline_data(), sorted);
          ++answered;
        } else {
          ExpectShort(status);
          ++refused;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(answered, 0);
  EXPECT_EQ(RefusedForMemory(), refused);
}

TEST_F(PinnedBudget, AnswersHaveTheirRoomBeforeTheWorkBegins) {
  Server::Options options = TestOptions();
  options.host_pool.max_bytes = 500 << 10;
  StartPuppet(options);
  puppet_->Hold();
  PendingSort held(stub(), SortRequestOf(Elements(50'000)));  // 224 KiB, and as much for the response
  puppet_->AwaitHeld(1);
  ExpectShort(PendingSort(stub(), SortRequestOf(Elements(10'000))).Wait());  // keys fit, the response does not
  EXPECT_EQ(RefusedForMemory(), 1);
  puppet_->Release();
  EXPECT_TRUE(held.Wait().ok());
}

TEST_F(PinnedBudget, WhatNeverFitsIsNotToldToRetry) {
  Server::Options options = TestOptions();
  options.host_pool.max_bytes = 300 << 10;
  StartPuppet(options);
  const grpc::Status status = PendingSort(stub(), SortRequestOf(Elements(50'000))).Wait();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(BadField(status), "keys_destination");
  EXPECT_THAT(status.error_message(), HasSubstr("host_pool_bytes"));
}

// A stream has 4 KiB for a chunk and 4 KiB for a tile of the output. The first one gets the lane and, while it is
// alone, takes as much again: half of the pool. Two others share the rest.
Server::Options ThreeStreams() {
  Server::Options options = TestOptions();
  options.long_lanes = 1;
  options.limits.max_chunk_bytes = 4 << 10;
  options.streams.window_bytes = 32 << 10;
  options.streams.piece_bytes = 8 << 10;
  options.streams.max_device_bytes = 1 << 20;
  options.streams.max_host_bytes = 4 << 20;
  options.host_pool.max_bytes = 32 << 10;
  return options;
}

TEST_F(PinnedBudget, StreamsHaveTheirWindowsBeforeTheyAreAdmitted) {
  Start(ThreeStreams());
  constexpr int64_t kCount = 40'000;
  const std::string keys = Elements(kCount);
  std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, keys}}, 1000);
  std::vector<std::unique_ptr<OpenStream>> streams;
  for (const int64_t promised : {16 << 10, 24 << 10, 32 << 10}) {
    streams.push_back(std::make_unique<OpenStream>(stub(), SortPlan(kUint32, kCount)));
    ASSERT_TRUE(Eventually([&] { return server().host_pool().promised_bytes() == promised; }));
    ASSERT_TRUE(streams.back()->Send(chunks.front()));
  }
  ExpectShort(OpenStream(stub(), SortPlan(kUint32, kCount)).Finish());
  EXPECT_EQ(RefusedForMemory(), 1);
  ExpectShort(PendingSort(stub(), SortRequestOf(Elements(100))).Wait());
  EXPECT_EQ(RefusedForMemory(), 2);
  // All together, in windows of one or two chunks and tiles.
  chunks.erase(chunks.begin());
  std::vector<std::thread> callers;
  for (auto& stream : streams) {
    callers.emplace_back([&] {
      std::string answer;
      const grpc::Status status = stream->Finish(chunks, &answer);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(answer, Sorted(keys));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_F(PinnedBudget, ManyStreamsThatRetryAllSucceed) {
  Start(ThreeStreams());
  constexpr int64_t kCount = 5000;
  const std::string keys = Elements(kCount);
  std::atomic<int> refused{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, keys}}, 900);
      for (int done = 0; done < 3;) {
        std::string answer;
        const grpc::Status status = OpenStream(stub(), SortPlan(kUint32, kCount)).Finish(chunks, &answer);
        if (status.ok()) {
          EXPECT_EQ(answer, Sorted(keys));
          ++done;
        } else {
          ExpectShort(status);
          EXPECT_EQ(answer, "");
          ++refused;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(RefusedForMemory(), refused);
}

TEST_F(PinnedBudget, StreamsGiveTheirWindowsBackHoweverTheyEnd) {
  Start(ThreeStreams());
  for (int round = 0; round < 3; ++round) {
    OpenStream cancelled(stub(), SortPlan(kUint32, 1000));
    OpenStream wrong(stub(), SortPlan(kUint32, 1000));
    ASSERT_TRUE(Eventually([&] { return server().jobs().jobs == 2; }));
    EXPECT_EQ(wrong.Finish({Chunk(0, 7, Elements(10))}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    cancelled.Cancel();
    EXPECT_EQ(cancelled.Finish().error_code(), grpc::StatusCode::CANCELLED);
    ExpectAllGivenBack(0);
  }
}

TEST_F(PinnedBudget, InlineResultsOfPlansHaveTheirRoomToo) {
  Server::Options options = ThreeStreams();
  options.host_pool.max_bytes = 64 << 10;
  options.long_lanes = 2;  // for either order of arrival
  Start(options);
  constexpr int64_t kCount = 5000;  // a response of 20,000 bytes, in a buffer of 20 KiB
  v1::Plan plan = SortPlan(kUint32, kCount);
  plan.mutable_operations(0)->mutable_sort()->mutable_keys_destination()->mutable_inline_response();
  OpenStream first(stub(), plan), second(stub(), plan);
  ASSERT_TRUE(Eventually([&] { return server().host_pool().promised_bytes() >= 2 * (24 << 10); }));
  ExpectShort(OpenStream(stub(), plan).Finish());
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, Elements(kCount)}}, 1000);
  EXPECT_TRUE(first.Finish(chunks).ok());
  EXPECT_TRUE(second.Finish(chunks).ok());
  EXPECT_EQ(RefusedForMemory(), 1);
}

class KeptBudget : public MemoryBudgetTest {
 protected:
  static constexpr int64_t kBytes = 4096;  // of each result; there is room for two
  static Server::Options RoomForTwo() {
    Server::Options options = TestOptions();
    options.arrays.max_bytes = 2 * kBytes + kBytes / 2;
    options.arrays.quota_bytes = 1 << 20;
    return options;
  }
  std::unique_ptr<PendingSort> Send(const std::string& name,
                                    std::chrono::milliseconds deadline = std::chrono::minutes(1)) {
    return std::make_unique<PendingSort>(stub(), SortRequestOf(Elements(kBytes / 4), name), deadline);
  }
  bool AwaitKept(int64_t arrays) {
    return Eventually([&] { return server().arrays().used_bytes() == arrays * kBytes; });
  }
};

TEST_F(KeptBudget, ResultsHaveTheirRoomBeforeTheWorkBegins) {
  StartPuppet(RoomForTwo());
  puppet_->Hold();
  auto first = Send("a");
  puppet_->AwaitHeld(1);
  auto second = Send("b");
  ASSERT_TRUE(AwaitKept(2)) << "the one that waits has its room too";
  ExpectShort(Send("c")->Wait());
  EXPECT_EQ(RefusedForMemory(), 1);
  puppet_->Release();
  EXPECT_TRUE(first->Wait().ok());
  EXPECT_TRUE(second->Wait().ok());
  const std::vector<std::string> phases = puppet_->phases();
  EXPECT_EQ(std::count(phases.begin(), phases.end(), "Run"), 2) << "nothing was done for the one that was refused";
  ExpectAllGivenBack(2 * kBytes);
}

TEST_F(KeptBudget, RoomIsGivenBackHoweverRequestsEnd) {
  std::atomic<bool> broken{false};
  StartPuppet(RoomForTwo(), [&broken](const std::string& phase, OperatorReport*) {
    return broken && phase == "Run" ? absl::InternalError("a fault") : absl::OkStatus();
  });
  puppet_->Hold();
  auto held = Send("a");
  puppet_->AwaitHeld(1);
  auto cancelled = Send("b");
  ASSERT_TRUE(AwaitKept(2));
  cancelled->Cancel();
  EXPECT_EQ(cancelled->Wait().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(AwaitKept(1));
  EXPECT_EQ(Send("c", std::chrono::milliseconds(100))->Wait().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(AwaitKept(1));
  broken = true;
  puppet_->Release();
  EXPECT_EQ(held->Wait().error_code(), grpc::StatusCode::INTERNAL);
  ASSERT_TRUE(Eventually([&] { return server().arrays().used_bytes() == 0; }));
  broken = false;
  EXPECT_TRUE(Send("d")->Wait().ok());
  ExpectAllGivenBack(kBytes);
}

TEST_F(KeptBudget, PlansOfKnownLengthHaveTheirRoomToo) {
  Server::Options options = ThreeStreams();
  options.arrays = RoomForTwo().arrays;
  options.long_lanes = 2;  // for either order of arrival
  Start(options);
  const auto plan = [](const std::string& name) {
    v1::Plan kept = SortPlan(kUint32, kBytes / 4);
    kept.mutable_operations(0)->mutable_sort()->mutable_keys_destination()->mutable_stored()->set_name(name);
    return kept;
  };
  OpenStream first(stub(), plan("a")), second(stub(), plan("b"));
  ASSERT_TRUE(AwaitKept(2));
  ExpectShort(OpenStream(stub(), plan("c")).Finish());
  EXPECT_EQ(RefusedForMemory(), 1);
  EXPECT_TRUE(first.Finish(Chunks({{0, 4, Elements(kBytes / 4)}}, 50)).ok());
  second.Cancel();
  EXPECT_FALSE(second.Finish().ok());
  ExpectAllGivenBack(kBytes);
}

using StreamLanes = MemoryBudgetTest;

// Device memory for one job of unknown length, and two lanes.
Server::Options TwoLanes() {
  Server::Options options = TestOptions();
  options.long_lanes = 2;
  options.device_budget_bytes = options.streams.max_device_bytes = int64_t{128} << 20;
  options.streams.piece_bytes = 64 << 10;
  return options;
}

TEST_F(StreamLanes, StreamsOfKnownLengthReserveWhatTheyNeed) {
  Start(TwoLanes());
  OpenStream first(stub(), SortPlan(kUint32, 10'000)), second(stub(), SortPlan(kUint32, 10'000));
  ASSERT_TRUE(first.Send(Chunk(0, 0, Elements(100))) && second.Send(Chunk(0, 0, Elements(100))));
  EXPECT_TRUE(Eventually([&] { return server().jobs().memory_in_use == 2 * 40'000; })) << "both have a lane";
  first.Cancel();
  second.Cancel();
  EXPECT_FALSE(first.Finish().ok() || second.Finish().ok());
}

TEST_F(StreamLanes, StreamsOfUnknownLengthReserveTheMost) {
  Start(TwoLanes());
  std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, Elements(1000), 0, true}}, 100);
  OpenStream first(stub(), SortPlan(kUint32, -1));
  ASSERT_TRUE(Eventually([&] { return server().jobs().jobs == 1 && server().waiting_requests() == 0; }));
  OpenStream second(stub(), SortPlan(kUint32, -1));
  ASSERT_TRUE(Eventually([&] { return server().waiting_requests() == 1; })) << "until the first gives its memory back";
  EXPECT_TRUE(first.Finish(chunks).ok());
  EXPECT_TRUE(second.Finish(chunks).ok());
}

using TransferBudget = MemoryBudgetTest;

TEST_F(TransferBudget, WhatIsStoredOrFetchedIsRefusedAtTheStartOnly) {
  std::atomic<bool> is_short{false};
  Server::Options options = TestOptions();
  options.arrays.max_bytes = 1 << 22;
  options.limits.max_chunk_bytes = 16 << 10;
  options.host_pool.max_kept_bytes = 0;  // every buffer comes from the engine
  StartPuppet(options, [&is_short](const std::string& phase, OperatorReport*) {
    return is_short && phase == "AllocateMemory" ? absl::ResourceExhaustedError("none") : absl::OkStatus();
  });
  const auto memory = v1::MemoryService::NewStub(running_->channel());
  const auto store = [&](bool short_in_the_middle) {
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    const auto writer = memory->StoreArray(&context, &response);
    v1::StoreArrayRequest request;
    request.mutable_header()->set_name("a");
    *request.mutable_header()->mutable_array() = Streamed(kUint32, 500'000, 0);
    writer->Write(request);
    for (int64_t first = 0; first < 500'000; first += 4000) {
      *request.mutable_chunk() = Chunk(0, first, std::string(16'000, 'x')).chunk();
      if (!writer->Write(request)) break;
      if (short_in_the_middle && first == 0) {
        EXPECT_TRUE(Eventually([&] { return server().arrays().used_bytes() > 0; }));
        is_short = true;
      }
    }
    writer->WritesDone();
    return writer->Finish();
  };
  is_short = true;
  ExpectShort(store(false));
  EXPECT_EQ(RefusedForMemory(), 1);
  is_short = false;
  const grpc::Status stored = store(true);
  EXPECT_TRUE(stored.ok()) << stored.error_message();
  const auto fetch = [&] {
    grpc::ClientContext context;
    v1::FetchArrayRequest request;
    request.set_name("a");
    const auto reader = memory->FetchArray(&context, request);
    v1::FetchArrayResponse response;
    size_t bytes = 0;
    while (reader->Read(&response)) {
      bytes += response.chunk().data().size();
      is_short = true;
    }
    const grpc::Status status = reader->Finish();
    EXPECT_EQ(bytes, status.ok() ? 2'000'000U : 0U);
    return status;
  };
  is_short = false;
  EXPECT_TRUE(fetch().ok());
  ExpectShort(fetch());
  EXPECT_EQ(RefusedForMemory(), 2);
  is_short = false;
}

}  // namespace
}  // namespace corank::testing
