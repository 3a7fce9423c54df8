// A server with several devices: the places of work and kept arrays, and the effects of losing a device. The devices
// are CPU engines that tests hold and lose, so that nothing depends on speed.
#include "tests/server/several_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/run/rows_in_turn.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

using grpc::health::v1::HealthCheckResponse;
using ::testing::ElementsAre;

std::vector<int32_t> Ramp(int count, int32_t first = 0) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

class SeveralDevicesTest : public ::testing::Test {
 protected:
  struct Answer {
    grpc::Status status;
    v1::SortResponse response;
    int device() const { return status.ok() ? response.stats().device_ordinal() : -1; }
  };

  void Start(int devices = 2, bool directly = false) {
    Server::Options options = TestOptions();
    if (!directly) options.queue.direct_bytes = 0;
    options.queue.batch_requests = 1;   // otherwise a lane that starts before the others would take a burst
    options.arrays.max_bytes = 40'000;  // 10,000 elements on each device
    options.on_device_lost = [this] { all_lost_.Notify(); };
    running_ = std::make_unique<RunningServer>(options, SwitchedEngines(devices, &devices_));
    memory_ = std::make_unique<MemoryCalls>(running_->channel());
  }
  const Server& server() const { return running_->server(); }
  DeviceSwitch& device(int i) { return *devices_[static_cast<size_t>(i)]; }

  Answer Sort(const v1::Array& keys, const std::string& keep_as = "") {
    v1::SortRequest request;
    *request.mutable_keys() = keys;
    if (!keep_as.empty()) *request.mutable_keys_destination() = KeptAs(keep_as);
    Answer answer;
    grpc::ClientContext context;
    answer.status = running_->stub().Sort(&context, request, &answer.response);
    return answer;
  }
  Answer SortSome() { return Sort(Int32s({3, 1, 2})); }
  std::future<Answer> SortLater(const v1::Array& keys) {
    return std::async(std::launch::async, [this, keys] { return Sort(keys); });
  }

  grpc::Status Store(const std::string& name, const std::vector<int32_t>& values) {
    return memory_->Store(name, Int32s(values));
  }
  grpc::Status Fetch(const std::string& name, std::vector<int32_t>* values) { return memory_->Fetch(name, values); }
  grpc::Status Fetch(const std::string& name) {
    std::string bytes;
    return memory_->Fetch(name, &bytes);
  }

  v1::GetServerInfoResponse Info() {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(running_->stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
    return info;
  }
  // corank_device_up, by device.
  std::vector<double> DevicesUp() const {
    std::vector<double> up(devices_.size(), -1);
    for (const prometheus::MetricFamily& family : server().metrics().Collect()) {
      if (family.name != "corank_device_up") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        up[static_cast<size_t>(std::stoi(metric.label.at(0).value))] = metric.gauge.value;
      }
    }
    return up;
  }

  absl::Notification all_lost_;
  std::vector<std::shared_ptr<DeviceSwitch>> devices_;
  std::unique_ptr<RunningServer> running_;
  std::unique_ptr<MemoryCalls> memory_;
};

TEST_F(SeveralDevicesTest, WorkGoesToAllAndABusyOneHoldsNothingBack) {
  Start();
  device(0).Hold();
  device(1).Hold();
  std::future<Answer> one = SortLater(Int32s({2, 1})), other = SortLater(Int32s({2, 1}));
  EXPECT_TRUE(Eventually([this] { return device(0).held() == 1 && device(1).held() == 1; }));
  device(1).Release();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(SortSome().device(), 1);
  device(0).Release();
  EXPECT_EQ(one.get().device() + other.get().device(), 1);
}

TEST_F(SeveralDevicesTest, TheServerNamesItsDevices) {
  Start(3);
  const v1::GetServerInfoResponse info = Info();
  ASSERT_EQ(info.devices_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(info.devices(i).ordinal(), i);
    EXPECT_EQ(info.devices(i).name(), info.device());
    EXPECT_EQ(info.devices(i).memory_bytes(), info.device_memory_bytes());
    EXPECT_TRUE(info.devices(i).up());
    EXPECT_EQ(server().health().Get("engine.cpu." + std::to_string(i)), HealthCheckResponse::SERVING);
  }
  EXPECT_THAT(DevicesUp(), ElementsAre(1, 1, 1));
}

TEST_F(SeveralDevicesTest, KeptArraysLieWhereThereIsRoomAndPullWorkThere) {
  for (const bool directly : {false, true}) {
    devices_.clear();
    Start(2, directly);
    ASSERT_TRUE(Store("a", Ramp(3000)).ok());
    ASSERT_TRUE(Store("b", Ramp(2000)).ok());
    EXPECT_EQ(server().arrays().used_bytes(0), 12'000);
    EXPECT_EQ(server().arrays().used_bytes(1), 8000);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Sort(Kept("a")).device(), 0);
      EXPECT_EQ(Sort(Kept("b")).device(), 1);
    }
    EXPECT_EQ(Sort(Kept("b"), "b2").device(), 1);
    EXPECT_EQ(server().arrays().used_bytes(1), 16'000) << "a result is kept where its request ran";
    EXPECT_EQ(Sort(Kept("b2")).device(), 1);
    std::vector<int32_t> fetched;
    EXPECT_TRUE(Fetch("b2", &fetched).ok());
    EXPECT_EQ(fetched, Ramp(2000));
  }
}

TEST_F(SeveralDevicesTest, EachDeviceHasItsOwnRoomForKeptArrays) {
  Start();
  ASSERT_TRUE(Store("a", Ramp(6000)).ok());
  EXPECT_EQ(Sort(Kept("a"), "copy").device(), 1) << "the first device has no room for the result";
  EXPECT_EQ(device(1).copies(), 1) << "so the array is copied there";
  EXPECT_EQ(server().arrays().used_bytes(1), 24'000);
  EXPECT_EQ(Store("b", Ramp(6000)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Sort(Kept("a"), "none").status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Store("b", Ramp(4000)).ok());
}

TEST_F(SeveralDevicesTest, ArraysOfTwoDevicesMeetWhereMostBytesAre) {
  Start();
  ASSERT_TRUE(Store("small", Ramp(100, 50)).ok());
  ASSERT_TRUE(Store("large", Ramp(400)).ok());
  v1::MergeRequest request;
  *request.add_keys() = Kept("small");
  *request.add_keys() = Kept("large");
  v1::MergeResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(running_->stub().Merge(&context, request, &response).ok());
  EXPECT_EQ(response.stats().device_ordinal(), 1);
  EXPECT_EQ(device(1).copies(), 1) << "the small array";
  EXPECT_EQ(device(0).copies(), 0);
  std::vector<int32_t> expected = Ramp(100, 50);
  for (const int32_t value : Ramp(400)) expected.push_back(value);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(response.keys().inline_data(),
            std::string(reinterpret_cast<const char*>(expected.data()), expected.size() * 4));
}

TEST_F(SeveralDevicesTest, AChainRunsOverArraysOfTwoDevices) {
  Start();
  ASSERT_TRUE(Store("a", Ramp(300, 100)).ok());
  ASSERT_TRUE(Store("b", Ramp(200)).ok());
  v1::Plan plan;
  v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
  *merge.add_keys() = Kept("a");
  *merge.add_keys() = Kept("b");
  merge.mutable_keys_destination()->mutable_stored()->set_name("merged");
  merge.mutable_keys_destination()->mutable_stored()->set_temporary(true);
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  *sort.mutable_keys() = Kept("merged");
  sort.mutable_keys()->mutable_stored()->set_temporary(true);
  sort.set_order(v1::SORT_ORDER_DESCENDING);
  sort.mutable_keys_destination()->mutable_stored()->set_name("down");
  const StreamedAnswer answer = Execute(running_->stub(), plan, {});
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.results.back().sort().stats().device_ordinal(), 0);
  EXPECT_EQ(Sort(Kept("down")).device(), 0);
  std::vector<int32_t> down, expected = Ramp(300, 100);
  for (const int32_t value : Ramp(200)) expected.push_back(value);
  std::sort(expected.rbegin(), expected.rend());
  EXPECT_TRUE(Fetch("down", &down).ok());
  EXPECT_EQ(down, expected);
}

TEST_F(SeveralDevicesTest, AGatherInPiecesCopiesAFarSourceOnce) {
  Start();
  ASSERT_TRUE(Store("large", Ramp(9000)).ok());
  ASSERT_TRUE(Store("small", Ramp(2000)).ok());
  v1::Plan plan;
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  *sort.mutable_keys() = Kept("large");
  sort.set_limit(1);
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  *gather.mutable_source() = Kept("small");
  std::vector<int64_t> offsets, counts;
  std::string expected;
  const std::vector<int32_t> source = Ramp(2000);
  // More rows than a piece has.
  for (int64_t rows = 0; rows * 4 < 2 * RowsInTurn::kPieceBytes + 1000; rows += 1900) {
    offsets.push_back(static_cast<int64_t>(offsets.size() % 100));
    counts.push_back(1900);
    expected.append(reinterpret_cast<const char*>(source.data() + offsets.back()), 1900 * 4);
  }
  *gather.mutable_source_offsets() = Int64s(offsets);
  *gather.mutable_counts() = Int64s(counts);
  *gather.mutable_destination() = ToStream(9);
  const StreamedAnswer answer = Execute(running_->stub(), plan, {});
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.results.back().gather_intervals().stats().device_ordinal(), 0);
  EXPECT_TRUE(answer.Output(9, 4) == expected);
  EXPECT_EQ(device(0).copies(), 1);
  EXPECT_EQ(device(1).copies(), 0);
  EXPECT_TRUE(Eventually([this] { return server().jobs().memory_in_use == 0; }));
}

TEST_F(SeveralDevicesTest, LosingOneEndsItsWorkAndTheOthersServeOn) {
  Start();
  ASSERT_TRUE(Store("a", Ramp(300)).ok());
  ASSERT_TRUE(Store("b", Ramp(200)).ok());
  device(0).Hold();
  std::future<Answer> running = SortLater(Kept("a"));
  EXPECT_TRUE(Eventually([this] { return device(0).held() == 1; }));
  std::future<Answer> waiting = SortLater(Kept("a"));
  EXPECT_TRUE(Eventually([this] { return server().waiting_requests() == 1; }));
  v1::Plan plan;  // waits on a long lane of the first device, for an array that does not come
  v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
  *merge.add_keys() = Kept("a");
  *merge.add_keys() = Streamed(v1::ELEMENT_TYPE_INT32, 10, 0);
  *merge.mutable_keys_destination() = ToStream(1);
  grpc::ClientContext stream_context;
  const auto stream = running_->stub().Execute(&stream_context);
  v1::ExecuteRequest first;
  *first.mutable_plan() = plan;
  ASSERT_TRUE(stream->Write(first));
  EXPECT_TRUE(Eventually([this] { return server().jobs().jobs == 1 && server().waiting_requests() == 1; }));

  device(0).Lose();
  device(0).Release();
  for (std::future<Answer>* lost : {&running, &waiting}) {
    const grpc::Status status = lost->get().status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
    EXPECT_LT(RetryDelay(status), absl::Seconds(1)) << "the others can take it at once";
  }
  v1::ExecuteResponse answer;
  while (stream->Read(&answer)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  EXPECT_EQ(Sort(Kept("a")).status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Fetch("a").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Sort(Kept("b")).device(), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(SortSome().device(), 1);
  EXPECT_EQ(Sort(Int32s({2, 1}), "c").device(), 1);
  EXPECT_TRUE(Store("d", Ramp(10)).ok());
  EXPECT_EQ(Sort(Kept("d")).device(), 1);
  EXPECT_EQ(server().health().Get("engine.cpu.0"), HealthCheckResponse::NOT_SERVING);
  for (const char* service : {"engine.cpu.1", "ready", "live", ""}) {
    EXPECT_EQ(server().health().Get(service), HealthCheckResponse::SERVING) << service;
  }
  const v1::GetServerInfoResponse info = Info();
  EXPECT_FALSE(info.devices(0).up());
  EXPECT_TRUE(info.devices(1).up());
  EXPECT_THAT(DevicesUp(), ElementsAre(0, 1));
  EXPECT_FALSE(server().device_lost());
  EXPECT_FALSE(all_lost_.HasBeenNotified());

  device(1).Lose();
  const grpc::Status last = SortSome().status;
  EXPECT_EQ(last.error_code(), grpc::StatusCode::UNAVAILABLE);
  all_lost_.WaitForNotification();
  EXPECT_TRUE(server().device_lost());
  EXPECT_EQ(server().health().Get("ready"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(SortSome().status.error_message(), "the server lost its device");
}

TEST_F(SeveralDevicesTest, CallersOfALostDeviceAreAnsweredWhileItsLanesAreStuck) {
  Start();
  ASSERT_TRUE(Store("a", Ramp(300)).ok());
  device(0).Hold();
  std::future<Answer> stuck = SortLater(Kept("a"));
  v1::Plan plan;
  *plan.add_operations()->mutable_sort()->mutable_keys() = Kept("a");
  *plan.mutable_operations(0)->mutable_sort()->mutable_keys_destination() = ToStream(1);
  std::future<StreamedAnswer> stuck_stream =
      std::async(std::launch::async, [this, &plan] { return Execute(running_->stub(), plan, {}); });
  ASSERT_TRUE(Eventually([this] { return device(0).held() == 2; }));

  device(0).Lose();
  EXPECT_FALSE(Fetch("a").ok());  // detects the loss
  for (const grpc::Status& status : {stuck.get().status, stuck_stream.get().status}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  }
  EXPECT_EQ(device(0).held(), 2) << "the lanes have not come back";
  EXPECT_TRUE(Eventually([this] { return server().active_calls() == 0; })) << "nothing is left to drain";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(SortSome().device(), 1);

  device(0).Release();
  EXPECT_TRUE(Eventually([this] { return device(0).held() == 0 && server().jobs().jobs == 0; }));
  EXPECT_EQ(SortSome().device(), 1);
  running_->server().Stop();
  EXPECT_EQ(server().host_pool().bytes_in_use(), 0);
}

TEST(ServerTest, TakesNoMoreDevicesThanItCanTellApart) {
  const Logger logger(LogLevel::kError);
  for (const size_t count : {size_t{0}, size_t{65}}) {
    std::vector<ChosenEngine> engines;
    while (engines.size() < count) engines.push_back(MakePuppet().second);
    const auto server = Server::Start(TestOptions(), std::move(engines), &Clock::Steady(), &logger);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(server.status().message()), ::testing::HasSubstr("1 to 64 devices"));
  }
}

}  // namespace
}  // namespace corank::testing
