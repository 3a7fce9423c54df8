// Each call of the server to its engine fails once, for every operator in every place. The right status comes back,
// nothing is left behind, and the next request succeeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/faults/fault_world.h"
#include "tests/faults/placed_request.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/faulty_engine.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMostCalls = 3000;
constexpr char kSecret[] = "words of the engine";

// An action of a caller. `prepare` and `clean` do not fail.
struct Scenario {
  std::string name;
  std::function<void(World&)> prepare;
  std::function<Answer(World&)> run;
  std::function<void(World&)> clean;
  bool waits = false;  // for memory of its response
  Server::Options options = FaultOptions();
};

Scenario Inline(const std::string& name, const AnyRequest& request) {
  return {name + ", inline", nullptr, [request](World& world) { return world.Unary(request); }, nullptr};
}

// Inputs and results in the region, one page each.
Scenario InRegion(const std::string& name, AnyRequest request) {
  auto inputs = std::make_shared<std::vector<std::pair<int64_t, std::string>>>();
  int64_t page = 0;
  const auto place = [&page](auto* message) {
    v1::RegionPlace* const at = message->mutable_shared_memory();
    at->set_region("r");
    at->set_offset_bytes(4096 * page++);
  };
  const auto input = [&](v1::Array* array) {
    const int64_t count = InlineCount(*array);
    inputs->emplace_back(4096 * page, array->inline_data());
    place(array);
    array->set_count(count);
  };
  Place(Message(request), input, place);
  const auto run = [request, inputs, pages = page](World& world) {
    std::memset(world.object().As<char>(), 0, static_cast<size_t>(4096 * pages));
    for (const auto& [offset, bytes] : *inputs)
      std::memcpy(world.object().As<char>(offset), bytes.data(), bytes.size());
    Answer answer = world.Unary(request);
    answer.bytes += std::string(world.object().As<char>(), static_cast<size_t>(4096 * pages));
    return answer;
  };
  return {name + ", in shared memory", nullptr, run, nullptr};
}

// Inputs and results kept on the server.
Scenario KeptOnServer(const std::string& name, AnyRequest request) {
  auto inputs = std::make_shared<std::vector<v1::Array>>();
  auto outputs = std::make_shared<std::vector<std::string>>();
  const auto input = [&](v1::Array* array) {
    if (array->type() == v1::ELEMENT_TYPE_INT64) return;  // counts and offsets, which the host reads
    const std::string kept = absl::StrCat("in", inputs->size());
    inputs->push_back(*array);
    array->mutable_stored()->set_name(kept);
    array->clear_count();
  };
  const auto output = [&](v1::Destination* destination) {
    outputs->push_back(absl::StrCat("out", outputs->size()));
    destination->mutable_stored()->set_name(outputs->back());
  };
  Place(Message(request), input, output);
  const auto prepare = [inputs](World& world) {
    for (size_t i = 0; i < inputs->size(); ++i) {
      EXPECT_TRUE(world.memory().Store(absl::StrCat("in", i), (*inputs)[i]).ok());
    }
  };
  const auto run = [request](World& world) { return world.Unary(request); };
  const auto clean = [outputs](World& world) {
    for (const std::string& kept : *outputs) world.memory().Delete(kept);
  };
  return {name + ", kept", prepare, run, clean};
}

// Turns the arrays of a request into streams. Returns the plan's operation and the chunks.
std::pair<v1::Operation, std::vector<StreamedInput>> ToStreams(AnyRequest request) {
  std::vector<StreamedInput> inputs;
  uint32_t outputs = 0;
  const auto input = [&](v1::Array* array) {
    StreamedInput one;
    one.stream_id = static_cast<uint32_t>(inputs.size());
    one.element_bytes = static_cast<int32_t>(ElementBytes(*array));
    one.bytes = array->inline_data();
    *array = Streamed(array->type(), InlineCount(*array), one.stream_id, array->record_bytes());
    inputs.push_back(one);
  };
  Place(Message(request), input, [&](v1::Destination* destination) { *destination = ToStream(outputs++); });
  return {ToOperation(request), inputs};
}

Scenario AsStream(const std::string& name, const AnyRequest& request) {
  v1::Plan plan;
  auto [operation, inputs] = ToStreams(request);
  *plan.add_operations() = operation;
  const std::vector<v1::ExecuteRequest> chunks = Chunks(inputs, 1000);
  return {name + ", streamed", nullptr, [=](World& world) { return world.Stream(plan, chunks); }, nullptr, true};
}

v1::SortRequest LargeSort() {
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, 20'000, 1);
  v1::SortRequest request;
  *request.mutable_keys() = MakeArray(v1::ELEMENT_TYPE_UINT32, keys.data(), keys.size());
  return request;
}

// Two calls that form one job. Responses may arrive in either call. Both have joined before anything fails.
Answer RunInParts(World& world) {
  const std::string keys = LargeSort().keys().inline_data();
  const auto half = static_cast<int64_t>(keys.size() / 8);
  v1::ExecuteRequest message;
  v1::Plan& plan = *message.mutable_plan();
  plan = SortPlan(v1::ELEMENT_TYPE_UINT32, 2 * half);
  plan.set_job_id("job");
  plan.set_parts(2);
  grpc::ClientContext contexts[2];
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> calls[2];
  for (uint32_t i = 0; i < 2; ++i) {
    calls[i] = world.stub().Execute(&contexts[i]);
    plan.set_part(i);
    calls[i]->Write(message);
    EXPECT_TRUE(Eventually([&] { return world.server().jobs().joining_jobs == 1 - static_cast<int64_t>(i); }));
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const auto bytes = static_cast<size_t>(4 * half);
    for (const auto& chunk : Chunks({{0, 4, keys.substr(i * bytes, bytes), i * half}}, 1000)) calls[i]->Write(chunk);
    calls[i]->WritesDone();
  }
  grpc::Status statuses[2];
  std::string sorted(keys.size(), '\0');
  for (uint32_t i = 0; i < 2; ++i) {
    v1::ExecuteResponse response;
    while (calls[i]->Read(&response)) {
      const v1::ArrayChunk& chunk = response.chunk();
      sorted.replace(static_cast<size_t>(4 * chunk.first_element()), chunk.data().size(), chunk.data());
    }
    statuses[i] = calls[i]->Finish();
  }
  EXPECT_EQ(statuses[0].error_code(), statuses[1].error_code()) << "one job, one end";
  return {statuses[0], sorted};
}

Scenario Parts() { return {"job of two parts", nullptr, RunInParts, nullptr, true}; }

// A sort into a temporary array, which a search reads.
Scenario Chain() {
  v1::Plan plan;
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  *sort.mutable_keys() = Streamed(v1::ELEMENT_TYPE_UINT32, 20'000, 0);
  sort.mutable_keys_destination()->mutable_stored()->set_name("sorted");
  sort.mutable_keys_destination()->mutable_stored()->set_temporary(true);
  v1::SearchRequest& search = *plan.add_operations()->mutable_search();
  search.mutable_haystack()->set_type(v1::ELEMENT_TYPE_UINT32);
  *search.mutable_haystack()->mutable_stored() = sort.keys_destination().stored();
  *search.mutable_needles() = Streamed(v1::ELEMENT_TYPE_UINT32, 100, 1);
  *search.mutable_destination() = ToStream(0);
  const std::string keys = LargeSort().keys().inline_data();
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, keys}, {1, 4, keys.substr(0, 400)}}, 1000);
  return {"chain", nullptr, [=](World& world) { return world.Stream(plan, chunks); }, nullptr, true};
}

// Arrays of unknown length with more than half of the device's memory.
Scenario Spilling() {
  v1::Plan plan;
  v1::SearchRequest& search = *plan.add_operations()->mutable_search();
  *search.mutable_haystack() = Streamed(v1::ELEMENT_TYPE_UINT32, -1, 0);
  *search.mutable_needles() = Streamed(v1::ELEMENT_TYPE_UINT32, -1, 1);
  *search.mutable_destination() = ToStream(0);
  const std::string needles = LargeSort().keys().inline_data();
  const std::string haystack(needles.size() / 2, '\0');
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, haystack, 0, true}, {1, 4, needles, 0, true}}, 1000);
  Scenario scenario = {"spilled", nullptr, [=](World& world) { return world.Stream(plan, chunks); }, nullptr, true};
  scenario.options.streams.max_device_bytes = 64 << 10;
  return scenario;
}

Scenario Storing() {
  return {"StoreArray", nullptr,
          [](World& world) {
            v1::Array array = LargeSort().keys();
            array.mutable_inline_data()->resize(4000);  // one chunk
            return Answer{world.memory().Store("stored", array, {1000}), ""};
          },
          [](World& world) { world.memory().Delete("stored"); }};
}

Scenario Fetching() {
  const auto prepare = [](World& world) {
    v1::Array array = LargeSort().keys();
    array.mutable_inline_data()->resize(4000);
    EXPECT_TRUE(world.memory().Store("fetched", array, {1000}).ok());
  };
  const auto run = [](World& world) {
    Answer answer;
    answer.status = world.memory().Fetch("fetched", &answer.bytes);
    return answer;
  };
  return {"FetchArray", prepare, run, nullptr};
}

Scenario Registering() {
  return {"RegisterSharedMemory", nullptr,
          [](World& world) {
            return Answer{world.memory().Register(world.object(), "s"), ""};
          },
          [](World& world) { world.memory().Unregister("s"); }};
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> scenarios = {Parts(), Chain(), Spilling(), Storing(), Fetching(), Registering()};
  const std::pair<const char*, AnyRequest> requests[] = {
      {"Sort", GoodSort()},       {"sort by columns", GoodColumnSort()},
      {"Merge", GoodMerge()},     {"Expand", GoodExpand()},
      {"Move", GoodMove()},       {"Gather", GoodGather()},
      {"Scatter", GoodScatter()}, {"LoadBalance", GoodBalance()},
      {"Search", GoodSearch()},   {"search by columns", GoodColumnSearch()},
      {"Group", GoodGroup()},     {"CombineSets", GoodSets()},
      {"Join", GoodJoin()},       {"Select", GoodSelect()},
      {"Rank", GoodRank()},       {"large Sort", LargeSort()}};
  for (const auto& [name, request] : requests) {
    scenarios.push_back(Inline(name, request));
    if (std::string(name) != "large Sort") {
      scenarios.push_back(InRegion(name, request));
      scenarios.push_back(KeptOnServer(name, request));
    }
    scenarios.push_back(AsStream(name, request));
  }
  return scenarios;
}

void ExpectStatus(const grpc::Status& status, absl::StatusCode code, const std::string& where) {
  EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(code)) << status.error_message() << where;
  EXPECT_THAT(status.error_message(), Not(HasSubstr(kSecret))) << where;
  if (code == absl::StatusCode::kInternal) {
    EXPECT_THAT(status.error_message(), HasSubstr("log has details under request id")) << where;
  } else {
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration()) << status.error_message() << where;
  }
}

// Fails the n-th call for n = 1, 2, 3, ... until the scenario succeeds.
void FailEachCall(const Scenario& scenario, absl::StatusCode code, bool stays = false) {
  SCOPED_TRACE(absl::StrCat(scenario.name, ", ", absl::StatusCodeToString(code)));
  World reference(scenario.options);
  if (scenario.prepare) scenario.prepare(reference);
  const Answer wanted = scenario.run(reference);
  ASSERT_TRUE(wanted.status.ok()) << wanted.status.error_message();
  World world(scenario.options);
  if (scenario.prepare) scenario.prepare(world);
  world.Settle();
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, kMostCalls);
    world.plan().FailCall(n, absl::Status(code, kSecret), stays);
    const Answer answer = scenario.run(world);
    const std::string failed = world.plan().failed();
    world.plan().FailCall(0, absl::OkStatus());
    if (failed.empty()) break;
    const std::string where = absl::StrCat(" where call ", n, ", ", failed, ", fails");
    if (answer.status.ok()) {
      // The server may retry an allocation when memory is short for a moment.
      EXPECT_TRUE(code == absl::StatusCode::kResourceExhausted && !stays) << where;
      EXPECT_EQ(answer.bytes, wanted.bytes) << where;
      if (scenario.clean) scenario.clean(world);
    } else {
      ExpectStatus(answer.status, code, where);
    }
    world.ExpectNothingLeft(absl::StrCat("left", where));
    const Answer next = scenario.run(world);
    EXPECT_TRUE(next.status.ok()) << next.status.error_message() << " after a request" << where;
    EXPECT_EQ(next.bytes, wanted.bytes) << "after a request" << where;
    if (scenario.clean) scenario.clean(world);
    world.ExpectNothingLeft(absl::StrCat("left after the next", where));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(EngineFault, MemoryIsShortAtEveryCall) {
  for (const Scenario& scenario : Scenarios()) FailEachCall(scenario, absl::StatusCode::kResourceExhausted);
}

TEST(EngineFault, MemoryStaysShortFromEveryCallOn) {
  for (const Scenario& scenario : Scenarios()) {
    if (scenario.waits) continue;  // waits for seconds, in case others free memory
    FailEachCall(scenario, absl::StatusCode::kResourceExhausted, /*stays=*/true);
  }
}

TEST(EngineFault, EveryCallFails) {
  for (const Scenario& scenario : Scenarios()) FailEachCall(scenario, absl::StatusCode::kInternal);
}

// A lost device stays lost, so each case gets a new server.
TEST(EngineFault, TheDeviceIsLostAtEveryCall) {
  for (const Scenario& scenario : Scenarios()) {
    SCOPED_TRACE(scenario.name);
    for (int64_t n = 1;; ++n) {
      ASSERT_LT(n, kMostCalls);
      World world(scenario.options);
      if (scenario.prepare) scenario.prepare(world);
      world.plan().FailCall(n, absl::UnavailableError(kSecret));
      const Answer answer = scenario.run(world);
      const std::string failed = world.plan().failed();
      if (failed.empty()) break;
      const std::string where = absl::StrCat(" where call ", n, ", ", failed, ", fails");
      ExpectStatus(answer.status, absl::StatusCode::kUnavailable, where);
      EXPECT_TRUE(Eventually([&] { return world.server().device_lost(); })) << where;
      EXPECT_TRUE(Eventually([&] {
        RawStream check(world.channel(), "/grpc.health.v1.Health/Check", HealthRequest(""));
        return check.Read() == kNotServing;
      })) << where;
      ExpectStatus(world.Unary(GoodSort()).status, absl::StatusCode::kUnavailable, where);
      EXPECT_TRUE(Eventually([&] {
        return world.server().active_calls() == 0 && world.server().host_pool().bytes_in_use() == 0 &&
               world.server().jobs().memory_in_use == 0 && world.server().waiting_requests() == 0;
      })) << "left"
          << where;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(EngineFault, AFusedBatchFailsTogetherAndOnlyOnce) {
  Server::Options options = FaultOptions();
  options.queue.direct_bytes = 0;
  World world(options);
  world.Settle();
  const std::string wanted = world.Unary(GoodSort()).bytes;
  for (const absl::StatusCode code : {absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal}) {
    for (int64_t n = 1;; ++n) {
      ASSERT_LT(n, kMostCalls);
      const auto sort = [&world] { return world.Unary(GoodSort()); };
      world.plan().Hold();
      std::vector<std::future<Answer>> calls;
      calls.push_back(std::async(std::launch::async, sort));  // holds the lane
      world.plan().AwaitHeld();
      for (int i = 0; i < 3; ++i) calls.push_back(std::async(std::launch::async, sort));
      ASSERT_TRUE(Eventually([&] { return world.server().waiting_requests() == 3; }));
      world.plan().FailCall(n, absl::Status(code, kSecret));
      world.plan().Release();
      int failures = 0;
      for (std::future<Answer>& call : calls) {
        const Answer answer = call.get();
        if (answer.status.ok()) {
          EXPECT_EQ(answer.bytes, wanted);
        } else {
          ++failures;
          ExpectStatus(answer.status, code, world.plan().failed());
        }
      }
      const std::string failed = world.plan().failed();
      world.plan().FailCall(0, absl::OkStatus());
      world.ExpectNothingLeft(failed);
      EXPECT_EQ(world.Unary(GoodSort()).bytes, wanted);
      if (failed.empty()) {
        EXPECT_EQ(failures, 0);
        break;
      }
      EXPECT_GE(failures, code == absl::StatusCode::kInternal ? 1 : 0) << failed;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace corank::testing
