// The judgement of an engine's errors, the detection of calls that do not return, and the reports of both.
#include "server/run/device_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_engine.h"
#include "server/base/errors.h"
#include "server/run/canary.h"
#include "tests/server/doubles.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/support/faulty_engine.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DeviceWatchTest : public ::testing::Test {
 protected:
  const Logger logger_{LogLevel::kError};
  std::vector<std::string> losses_;
  DeviceWatch watch_{[this](const std::string& reason) { losses_.push_back(reason); }, &logger_};
};

TEST_F(DeviceWatchTest, JudgesErrors) {
  const absl::Status memory = watch_.Judge(absl::ResourceExhaustedError("cudaMalloc(0x7f00)"));
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(memory));
  EXPECT_THAT(std::string(memory.message()), Not(HasSubstr("0x7f00")));
  const absl::Status budget = RetryLater(v1::ERROR_REASON_MEMORY_FULL, "a budget is in use", absl::Seconds(3));
  EXPECT_EQ(watch_.Judge(budget), budget);
  for (const absl::Status& status : {absl::InternalError("misuse"), absl::InvalidArgumentError("no such handle")}) {
    EXPECT_EQ(watch_.Judge(status), status);
  }
  EXPECT_THAT(losses_, IsEmpty());
  EXPECT_EQ(watch_.Judge(absl::UnavailableError("an illegal address")), DeviceLost());
  EXPECT_EQ(watch_.Judge(absl::UnavailableError("again")), DeviceLost());
  EXPECT_THAT(losses_, ElementsAre("an illegal address")) << "told once";
  EXPECT_TRUE(HasRetryDelay(DeviceLost()));
}

TEST_F(DeviceWatchTest, ACallThatDoesNotReturnLosesTheDevice) {
  DeviceWatch::Line line(&watch_), other(&watch_);
  for (int i = 0; i < 100; ++i) watch_.Tick(3);
  EXPECT_FALSE(watch_.lost()) << "no call is in progress";
  line.Enter();
  for (int i = 0; i < 3; ++i) watch_.Tick(3);
  line.Leave();
  other.Enter();
  for (int i = 0; i < 3; ++i) watch_.Tick(3);
  EXPECT_FALSE(watch_.lost()) << "each call has its own time";
  for (int i = 0; i < 100; ++i) watch_.Tick(0);
  EXPECT_FALSE(watch_.lost()) << "0 is never";
  watch_.Tick(3);
  EXPECT_TRUE(watch_.lost());
  EXPECT_EQ(losses_.size(), 1U);
}

TEST_F(DeviceWatchTest, NothingBeginsOnALostDevice) {
  auto puppet = std::make_unique<PuppetEngine>();
  PuppetEngine* const puppet_engine = puppet.get();
  const std::unique_ptr<Engine> engine = Watched(std::move(puppet), &watch_);
  const std::unique_ptr<EngineStream> stream = *engine->CreateStream();
  EXPECT_TRUE(stream->Begin().ok());
  watch_.Lose("a test says so");
  EXPECT_EQ(stream->Begin(), DeviceLost());
  EXPECT_EQ(stream->Upload("", 0).status(), DeviceLost());
  EXPECT_EQ(engine->AllocateHost(1).status(), DeviceLost());
  EXPECT_EQ(engine->CreateStream().status(), DeviceLost());
  EXPECT_TRUE(stream->Finish().ok()) << "copies in flight are waited for all the same";
  stream->End();
  stream->Trim();
  EXPECT_EQ(puppet_engine->ends(), 0) << "freeing would wait for the device";
  EXPECT_THAT(puppet_engine->phases(), ElementsAre("Begin", "Finish"));
}

TEST_F(DeviceWatchTest, ACanaryThatDoesNotSortIsRefusedAtStart) {
  PuppetEngine engine;  // its sorts copy
  const auto canary = Canary::Create({}, &engine, &watch_, &logger_, [](bool) {});
  EXPECT_THAT(std::string(canary.status().message()), HasSubstr("wrongly sorted"));
}

TEST_F(DeviceWatchTest, TheCanaryTellsOfFailuresAndOfTheirEnd) {
  const auto plan = std::make_shared<FaultPlan>();
  const std::unique_ptr<Engine> engine = Faulty(*CreateCpuEngine({1}), plan);
  std::atomic<int> failures{0}, recoveries{0};
  Canary::Options options;
  options.interval = absl::Milliseconds(5);
  options.timeout = absl::Milliseconds(100);
  auto canary =
      *Canary::Create(options, engine.get(), &watch_, &logger_, [&](bool good) { ++(good ? recoveries : failures); });
  canary->Start();
  plan->FailCall(1, absl::InternalError("once"));
  EXPECT_TRUE(Eventually([&] { return failures == 1 && recoveries == 1; }));
  plan->FailCall(1, absl::ResourceExhaustedError("requests have the memory"));
  EXPECT_TRUE(Eventually([&] { return !plan->failed().empty(); }));
  plan->Hold();  // takes longer than the timeout
  EXPECT_TRUE(Eventually([&] { return failures == 2; }));
  EXPECT_EQ(recoveries, 1);
  plan->Release();
  EXPECT_TRUE(Eventually([&] { return recoveries == 2; }));
  EXPECT_EQ(failures, 2) << "short memory is no failure";
  EXPECT_FALSE(watch_.lost());
  canary.reset();
}

class HealthTest : public ::testing::Test {
 protected:
  std::unique_ptr<RawStream> Watch(const std::string& service) {
    return std::make_unique<RawStream>(running_.channel(), "/grpc.health.v1.Health/Watch", HealthRequest(service));
  }
  grpc::Status Check(const std::string& service) {
    grpc::ClientContext context;
    return CallRaw(running_.channel(), "/grpc.health.v1.Health/Check", &context, HealthRequest(service));
  }
  RunningServer running_;
};

TEST_F(HealthTest, KnowsItsServicesAndNoOther) {
  for (const char* service :
       {"", "live", "ready", "corank.v1.CorankService", "corank.v1.MemoryService", "engine.cpu.0"}) {
    EXPECT_TRUE(Check(service).ok()) << service;
    EXPECT_EQ(Watch(service)->Read(), kServing) << service;
  }
  for (const char* service : {"engine.cuda.0", "engine.cpu.1", "grpc.health.v1.Health", "Ready"}) {
    EXPECT_EQ(Check(service).error_code(), grpc::StatusCode::NOT_FOUND) << service;
    EXPECT_EQ(Watch(service)->Read(), "\x08\x03") << service;
  }
}

TEST_F(HealthTest, WatchesHearOfEveryChangeAndEndWithTheServer) {
  const auto ready = Watch("ready"), live = Watch("live"), engine = Watch("engine.cpu.0"), unknown = Watch("unknown");
  for (RawStream* watch : {ready.get(), live.get(), engine.get()}) EXPECT_EQ(watch->Read(), kServing);
  EXPECT_EQ(unknown->Read(), "\x08\x03");
  running_.server().Drain([] {});
  EXPECT_EQ(ready->Read(), kNotServing);
  EXPECT_TRUE(Check("live").ok());
  running_.server().Stop();
  for (RawStream* watch : {ready.get(), live.get(), engine.get(), unknown.get()}) {
    EXPECT_EQ(watch->Read(), std::nullopt) << "nothing else has changed";
  }
}

TEST(HealthBoard, IsBounded) {
  RunningServer running;
  std::vector<std::unique_ptr<RawStream>> watches;
  const auto watch = [&](const std::string& service) {
    watches.push_back(
        std::make_unique<RawStream>(running.channel(), "/grpc.health.v1.Health/Watch", HealthRequest(service)));
    return watches.back()->Read();
  };
  EXPECT_EQ(watch(std::string(100, 'x')), "\x08\x03");
  EXPECT_EQ(watch("ready"), kServing);
  watches.clear();
  EXPECT_TRUE(Eventually([&] { return running.server().health().watches() == 0; })) << "callers that go are forgotten";
}

}  // namespace
}  // namespace corank::testing
