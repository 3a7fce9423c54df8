// A device that is lost, hangs or returns wrong results, under a corankd with calls of all kinds in flight: what
// callers, probes and the supervisor see. On the CPU engine a double breaks the device, on a GPU kernels do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "tests/faults/breaking_engine.h"
#include "tests/server/corankd_process.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kEngine[] = CORANK_ENGINE_UNDER_TEST;
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
// The services that probes ask for.
const char* const kReadiness[] = {"", "ready", "corank.v1.CorankService", "corank.v1.MemoryService"};

class DeviceLostTest : public ::testing::Test {
 protected:
  enum class Devices { kFirst, kAll };

  // Returns false, with the test skipped, if there is no such engine.
  bool Start(std::vector<std::string> more = {}, Devices devices = Devices::kFirst) {
    more.push_back("--kept-bytes=1000000");
    // Only the device breaks, and no other serves on.
    more.push_back("--host-bytes=0");
    if (std::string(kEngine) == "cuda" && devices == Devices::kFirst) more.push_back("--devices=0");
    process_ = std::make_unique<Process>(ProgramBeside("corankd_faulty"), FreePorts(kEngine, more));
    if (!process_->AwaitReady()) {
      if (process_->Log().find("no NVIDIA driver") == std::string::npos) ADD_FAILURE() << process_->Log();
      return false;
    }
    channel_ = Connect(process_->Address());
    stub_ = v1::CorankService::NewStub(channel_);
    return true;
  }

  std::unique_ptr<RawStream> Watch(const std::string& service) {
    return std::make_unique<RawStream>(channel_, kWatch, HealthRequest(service));
  }
  std::string Health(const std::string& service) {
    return RawStream(channel_, "/grpc.health.v1.Health/Check", HealthRequest(service)).Read().value_or("none");
  }

  grpc::Status Sort(int64_t count, const char* what = "", absl::Duration timeout = absl::Minutes(1)) {
    std::vector<int32_t> keys(static_cast<size_t>(count));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 2654435761U);
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(keys);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    v1::SortResponse response;
    grpc::Status status = stub_->Sort(&context, request, &response);
    std::sort(keys.begin(), keys.end());
    EXPECT_TRUE(!status.ok() || response.keys().inline_data() == Int32s(keys).inline_data()) << what;
    return status;
  }

  v1::GetServerInfoResponse Info() {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(stub_->GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
    return info;
  }
  std::string EngineService() const { return absl::StrCat("engine.", kEngine, ".0"); }

  std::unique_ptr<Process> process_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CorankService::Stub> stub_;
};

// Calls of all kinds that are in flight when the device fails.
class InFlight {
 public:
  InFlight(const std::shared_ptr<grpc::Channel>& channel, v1::CorankService::Stub* stub)
      : memory_(v1::MemoryService::NewStub(channel)) {
    stream_ = stub->Execute(&stream_context_);
    v1::ExecuteRequest request;
    *request.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_UINT32, 1000);
    stream_->Write(request);
    stream_->Write(Chunk(0, 0, std::string(400, 'x')));
    part_ = stub->Execute(&part_context_);
    v1::Plan part = SortPlan(v1::ELEMENT_TYPE_UINT32, 1000);
    part.set_job_id("half");
    part.set_parts(2);
    *request.mutable_plan() = part;
    part_->Write(request);
    without_plan_ = stub->Execute(&without_plan_context_);
    store_ = memory_->StoreArray(&store_context_, &stored_);
    v1::StoreArrayRequest header;
    header.mutable_header()->set_name("half");
    *header.mutable_header()->mutable_array() = Streamed(v1::ELEMENT_TYPE_UINT32, 1000, 0);
    store_->Write(header);
    lease_ = memory_->OpenLease(&lease_context_, v1::OpenLeaseRequest());
    v1::OpenLeaseResponse lease;
    EXPECT_TRUE(lease_->Read(&lease));
  }

  void ExpectUnavailable() {
    ExpectEnds(stream_.get());
    ExpectEnds(part_.get());
    v1::ExecuteResponse response;
    while (without_plan_->Read(&response)) {
    }
    EXPECT_EQ(without_plan_->Finish().error_code(), grpc::StatusCode::UNAVAILABLE) << "of a call without a plan";
    store_->WritesDone();
    EXPECT_EQ(store_->Finish().error_code(), grpc::StatusCode::UNAVAILABLE) << "of StoreArray";
    v1::OpenLeaseResponse lease;
    EXPECT_FALSE(lease_->Read(&lease));
    EXPECT_EQ(lease_->Finish().error_code(), grpc::StatusCode::UNAVAILABLE) << "of OpenLease";
  }

 private:
  using Call = grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>;

  static void ExpectEnds(Call* call) {
    v1::ExecuteResponse response;
    while (call->Read(&response)) {
    }
    const grpc::Status status = call->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration()) << status.error_message();
  }

  const std::unique_ptr<v1::MemoryService::Stub> memory_;
  grpc::ClientContext stream_context_, part_context_, without_plan_context_, store_context_, lease_context_;
  std::unique_ptr<Call> stream_, part_, without_plan_;
  v1::StoreArrayResponse stored_;
  std::unique_ptr<grpc::ClientWriter<v1::StoreArrayRequest>> store_;
  std::unique_ptr<grpc::ClientReader<v1::OpenLeaseResponse>> lease_;
};

class DeviceFaultTest : public DeviceLostTest, public ::testing::WithParamInterface<Break> {};

TEST_P(DeviceFaultTest, EndsEveryCallAndTheProcess) {
  if (!Start()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  std::vector<std::unique_ptr<RawStream>> watches;
  for (const char* service : kReadiness) watches.push_back(Watch(service));
  watches.push_back(Watch(EngineService()));
  for (const auto& watch : watches) EXPECT_EQ(watch->Read(), kServing);
  InFlight in_flight(channel_, stub_.get());
  std::atomic<bool> sorts_on{true};
  std::atomic<int> sorted{0};
  std::vector<std::thread> sorters;
  for (int i = 0; i < 3; ++i) {
    sorters.emplace_back([&] {
      while (sorts_on) {
        const grpc::Status status = Sort(50'000, "beside a fault");
        if (status.ok()) {
          ++sorted;
        } else {
          EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        }
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return sorted > 5; }));

  const absl::Time broken = absl::Now();
  const grpc::Status status = Sort(GetParam());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  EXPECT_EQ(status.error_message(), "the server lost its device");
  for (const auto& watch : watches) EXPECT_EQ(watch->Read(), kNotServing);
  EXPECT_LT(absl::Now() - broken, absl::Seconds(1)) << "until every watch has heard of it";
  std::printf("health says it %d ms after the fault\n",
              static_cast<int>((absl::Now() - broken) / absl::Milliseconds(1)));
  in_flight.ExpectUnavailable();
  EXPECT_EQ(process_->Wait(), 3) << process_->Log();
  sorts_on = false;
  for (std::thread& sorter : sorters) sorter.join();
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"device_lost\""));
}

INSTANTIATE_TEST_SUITE_P(Faults, DeviceFaultTest, ::testing::Values(kOutOfBounds, kAssertion, kIllegalInstruction));

TEST_F(DeviceLostTest, IsNoticedWithNothingInFlight) {
  if (!Start({"--canary-interval=1h"})) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  const auto ready = Watch("ready");
  EXPECT_EQ(ready->Read(), kServing);
  EXPECT_TRUE(Sort(kLater).ok());
  const absl::Time broken = absl::Now() + absl::Milliseconds(kLaterMilliseconds);
  EXPECT_EQ(ready->Read(), kNotServing);
  EXPECT_LT(absl::Now() - broken, absl::Seconds(1));
  EXPECT_EQ(process_->Wait(), 3) << process_->Log();
}

TEST_F(DeviceLostTest, AHangMakesItNotReadyAndThenEndsTheProcess) {
  if (!Start({"--canary-interval=100ms", "--canary-timeout=300ms", "--hang-timeout=2s"})) {
    GTEST_SKIP() << "no NVIDIA GPU on this machine";
  }
  const auto ready = Watch("ready"), live = Watch("live"), engine = Watch(EngineService());
  for (RawStream* watch : {ready.get(), live.get(), engine.get()}) EXPECT_EQ(watch->Read(), kServing);
  std::thread hangs([this] {
    const grpc::Status status = Sort(kHangBehind);
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE) << status.error_message();
  });
  EXPECT_EQ(ready->Read(), kNotServing);
  EXPECT_EQ(engine->Read(), kNotServing);
  EXPECT_EQ(Health("live"), kServing) << "the process still answers";
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"canary_failed\""));
  EXPECT_THAT(Scrape(process_->MetricsAddress()), HasSubstr("corank_device_up{device=\"0\"} 0\n"));
  EXPECT_EQ(process_->Wait(), 3) << process_->Log();
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"device_lost\""));
  hangs.join();
}

TEST_F(DeviceLostTest, AHangWhileIdleLanesFreeMemoryEndsEveryCallAndTheProcess) {
  if (!Start({"--canary-interval=100ms", "--canary-timeout=300ms", "--hang-timeout=2s"})) {
    GTEST_SKIP() << "no NVIDIA GPU on this machine";
  }
  const grpc::Status status = Sort(kHangWhenTrimmed);
  ASSERT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(process_->Wait(), 3) << process_->Log();
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"device_lost\""));
}

TEST_F(DeviceLostTest, AHangOfOneOfSeveralTakesOutThatOneAlone) {
  if (!Start({"--canary-interval=100ms", "--canary-timeout=300ms", "--hang-timeout=2s", "--drain-timeout=1s"},
             Devices::kAll)) {
    GTEST_SKIP() << "no NVIDIA GPU on this machine";
  }
  const int devices = Info().devices_size();
  if (devices < 2) GTEST_SKIP() << "fewer than two devices on this machine";
  const auto serving = [&] {
    int count = 0;
    for (int i = 0; i < devices; ++i) count += Health(absl::StrCat("engine.", kEngine, ".", i)) == kServing ? 1 : 0;
    return count;
  };
  EXPECT_EQ(serving(), devices);
  const auto ready = Watch("ready");
  EXPECT_EQ(ready->Read(), kServing);

  const grpc::Status status = Sort(kHang, "", absl::Seconds(6));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << "although its lane does not come back";
  EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  EXPECT_EQ(serving(), devices - 1);
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"device_lost\""));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Sort(50'000, "on the others").ok());
  int up = 0;
  const v1::GetServerInfoResponse info = Info();
  for (const v1::Device& device : info.devices()) up += device.up() ? 1 : 0;
  EXPECT_EQ(up, devices - 1);

  process_->Signal(SIGTERM);
  EXPECT_EQ(ready->Read(), kNotServing) << "for the first time";
  EXPECT_EQ(process_->Wait(), 0) << process_->Log();
}

class SharedFaultTest : public DeviceLostTest, public ::testing::WithParamInterface<Break> {};

// A fault of one GPU ruins the contexts of all GPUs in the process, as CUDA's documentation says.
TEST_P(SharedFaultTest, EndsCallsThatAllDevicesShareAndTheProcess) {
  if (!Start({}, Devices::kAll)) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  if (Info().devices_size() < 2) GTEST_SKIP() << "fewer than two devices on this machine";
  std::vector<int32_t> keys(100'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 2654435761U);
  MemoryCalls::StoreOptions sharded;
  sharded.sharded = true;
  ASSERT_TRUE(MemoryCalls(channel_).Store("keys", Int32s(keys), sharded).ok());
  std::sort(keys.begin(), keys.end());
  std::atomic<int> sorted{0};
  std::thread sorter([&] {
    v1::SortRequest request;
    *request.mutable_keys() = Kept("keys");
    for (grpc::Status status; status.ok();) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
      v1::SortResponse response;
      status = stub_->Sort(&context, request, &response);
      if (status.ok()) {
        EXPECT_TRUE(response.keys().inline_data() == Int32s(keys).inline_data());
        ++sorted;
      } else {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
      }
    }
  });
  EXPECT_TRUE(Eventually([&] { return sorted > 5; }));
  EXPECT_EQ(Sort(GetParam()).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(process_->Wait(), 3) << process_->Log();
  sorter.join();
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"device_lost\""));
}

INSTANTIATE_TEST_SUITE_P(Faults, SharedFaultTest, ::testing::Values(kOutOfBounds, kAssertion, kIllegalInstruction));

TEST_F(DeviceLostTest, ADeviceThatSortsWronglyIsNotReadyUntilItSortsRightly) {
  if (!Start({"--canary-interval=100ms"})) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  const auto ready = Watch("ready"), live = Watch("live"), unknown = Watch("no such service");
  EXPECT_EQ(ready->Read(), kServing);
  EXPECT_EQ(live->Read(), kServing);
  EXPECT_EQ(unknown->Read(), "\x08\x03") << "SERVICE_UNKNOWN";
  EXPECT_THAT(Scrape(process_->MetricsAddress()), HasSubstr("corank_device_up{device=\"0\"} 1\n"));
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(std::vector<int32_t>(kWrong));
  grpc::ClientContext context;
  v1::SortResponse response;
  EXPECT_TRUE(stub_->Sort(&context, request, &response).ok());
  EXPECT_EQ(ready->Read(), kNotServing);
  EXPECT_EQ(Health(EngineService()), kNotServing);
  EXPECT_EQ(Health("live"), kServing);
  EXPECT_THAT(process_->Log(), HasSubstr("the device returned wrongly sorted keys"));
  EXPECT_THAT(Scrape(process_->MetricsAddress()), HasSubstr("corank_device_up{device=\"0\"} 0\n"));
  EXPECT_TRUE(Sort(kMend).ok());
  EXPECT_EQ(ready->Read(), kServing);
  EXPECT_THAT(process_->Log(), HasSubstr("\"event\":\"canary_recovered\""));
  process_->Signal(SIGTERM);
  EXPECT_EQ(ready->Read(), kNotServing);
  EXPECT_EQ(process_->Wait(), 0) << process_->Log();
}

}  // namespace
}  // namespace corank::testing
