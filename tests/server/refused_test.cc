// corank_refused_total: each reason is counted when it applies, and only then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/schedule/scheduler.h"
#include "tests/server/doubles.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The counted reasons, with their numbers.
std::map<std::string, double> Refused(const Metrics& metrics) {
  std::map<std::string, double> counts;
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    if (family.name != "corank_refused_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (metric.counter.value > 0) counts[metric.label.front().value] = metric.counter.value;
    }
  }
  return counts;
}

// Needs more device memory than there is.
class LargeOperation final : public NullOperation {
 public:
  LargeOperation() : NullOperation(Operator::kSort) {}
  int64_t device_bytes(const Engine&) const override { return int64_t{1} << 40; }
};

class RefusedByTheQueue : public ::testing::Test {
 protected:
  // Admits a high-priority request of a tenant.
  bool Admit(int64_t bytes, const std::string& tenant = "") {
    auto caller = std::make_shared<Caller>();
    caller->tenant = tenant;
    requests_.push_back(std::make_unique<RecordedRequest>());
    auto task = requests_.back()->MakeTask(bytes, TaskPriority::kHigh);
    task->request.caller = std::move(caller);
    return queue_->Submit(std::move(task)).ok();
  }
  void Open(const Scheduler::Options& options) {
    queue_ = std::make_unique<Scheduler>(options, &clock_, &metrics_, &memory_, &devices_);
  }

  FakeClock clock_;
  Metrics metrics_;
  PuppetEngine engine_;
  const DeviceSet devices_{{&engine_}};
  DeviceMemory memory_{{/*limit_bytes=*/int64_t{1} << 30, /*lane_bytes=*/int64_t{64} << 20, /*limits=*/{}}};
  std::vector<std::unique_ptr<RecordedRequest>> requests_;
  std::unique_ptr<Scheduler> queue_;
};

TEST_F(RefusedByTheQueue, ForTooManyRequests) {
  Scheduler::Options options;
  options.max_requests = 2;
  Open(options);
  EXPECT_TRUE(Admit(1) && Admit(1));
  EXPECT_THAT(Refused(metrics_), IsEmpty());
  EXPECT_FALSE(Admit(1));
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("queue_requests", 1)));
}

TEST_F(RefusedByTheQueue, ForTooManyBytes) {
  Scheduler::Options options;
  options.max_bytes = 100;
  Open(options);
  EXPECT_TRUE(Admit(60));
  EXPECT_FALSE(Admit(60) || Admit(60));
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("queue_bytes", 2)));
}

TEST_F(RefusedByTheQueue, ForTheTenantsPart) {
  Scheduler::Options options;
  options.tenant_max_requests = 2;
  options.tenant_max_bytes = 100;
  Open(options);
  EXPECT_TRUE(Admit(10, "a") && Admit(10, "a"));
  EXPECT_FALSE(Admit(10, "a"));
  EXPECT_TRUE(Admit(60, "b"));
  EXPECT_FALSE(Admit(60, "b"));
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("tenant_requests", 1), Pair("tenant_bytes", 1)));
}

TEST_F(RefusedByTheQueue, ForDeviceMemory) {
  Open({});
  RecordedRequest request;
  auto task = request.MakeTask(std::make_unique<LargeOperation>(), 1 << 20);
  task->plan.need = NeedOf(*task->plan.operation, task->plan.strategy, devices_);
  EXPECT_FALSE(queue_->Submit(std::move(task)).ok());
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("memory", 1)));
}

TEST_F(RefusedByTheQueue, ForADeadlineThatCannotBeKept) {
  Open({});
  for (int i = 0; i < 10; ++i) {  // ten seconds each
    ASSERT_TRUE(Admit(1000));
    auto taken = queue_->NextBatch(0, /*is_spare=*/false);
    clock_.Advance(std::chrono::seconds(10));
    taken.front()->batch->CountServed();
  }
  RecordedRequest request;
  auto task = request.MakeTask(1000);
  task->request.deadline = clock_.Now() + std::chrono::seconds(1);
  EXPECT_EQ(queue_->Submit(std::move(task)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("late", 1)));
}

TEST_F(RefusedByTheQueue, ForWhatItWasClosedWith) {
  Open({});
  queue_->Close(absl::UnavailableError("drains"));
  EXPECT_FALSE(Admit(1));
  queue_->Abort(absl::UnavailableError("lost"), Refusal::kDeviceLost);
  EXPECT_FALSE(Admit(1) || Admit(1));
  EXPECT_THAT(Refused(metrics_), UnorderedElementsAre(Pair("draining", 1), Pair("device_lost", 2)));
}

class RefusedByTheServer : public ::testing::Test {
 protected:
  void Start(const Server::Options& options, PuppetEngine::Script script = nullptr) {
    auto [puppet, engine] = MakePuppet(std::move(script));
    puppet_ = puppet;
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
  }
  grpc::StatusCode Sort(size_t keys) {
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(std::vector<int32_t>(keys));
    v1::SortResponse response;
    grpc::ClientContext context;
    return running_->stub().Sort(&context, request, &response).error_code();
  }
  // Sends the plan of a stream, and nothing else.
  grpc::StatusCode Execute() {
    grpc::ClientContext context;
    const auto stream = running_->stub().Execute(&context);
    v1::ExecuteRequest request;
    v1::SortRequest* const sort = request.mutable_plan()->add_operations()->mutable_sort();
    sort->mutable_keys()->set_type(v1::ELEMENT_TYPE_INT32);
    sort->mutable_keys()->set_count(1);
    sort->mutable_keys()->mutable_stream();
    stream->Write(request);
    v1::ExecuteResponse response;
    while (stream->Read(&response)) continue;
    return stream->Finish().error_code();
  }
  std::map<std::string, double> Counts() const { return Refused(running_->server().metrics()); }

  PuppetEngine* puppet_ = nullptr;
  std::unique_ptr<RunningServer> running_;
};

TEST_F(RefusedByTheServer, WhileItDrains) {
  Start(TestOptions());
  EXPECT_EQ(Sort(4), grpc::StatusCode::OK);
  running_->server().Drain([] {});
  EXPECT_EQ(Sort(4), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("draining", 1)));
  EXPECT_EQ(Execute(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("draining", 2)));
}

TEST_F(RefusedByTheServer, ForTheTenantsRate) {
  FakeClock clock;
  Server::Options options = TestOptions();
  options.tenant_max_rate = 2;
  options.arrays.max_bytes = 1 << 20;
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  auto [puppet, engine] = MakePuppet(nullptr);
  running_ = std::make_unique<RunningServer>(options, std::move(engine), &clock);
  EXPECT_EQ(Sort(4), grpc::StatusCode::OK);
  EXPECT_EQ(Sort(4), grpc::StatusCode::OK);
  EXPECT_EQ(Sort(4), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Execute(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("tenant_rate", 2)));
  const MemoryCalls memory(running_->channel());
  const SharedObject object(4096);
  std::string bytes;
  EXPECT_EQ(memory.Store("keys", Int32s({1})).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(memory.Fetch("keys", &bytes).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(memory.Register(object).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("tenant_rate", 5)));
  EXPECT_EQ(memory.Unregister("r").error_code(), grpc::StatusCode::NOT_FOUND) << "what frees memory is not counted";
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Sort(4), grpc::StatusCode::OK);
  EXPECT_TRUE(memory.Store("keys", Int32s({1})).ok());
  EXPECT_EQ(Sort(4), grpc::StatusCode::RESOURCE_EXHAUSTED);
  running_.reset();  // before its clock
}

TEST_F(RefusedByTheServer, OnceTheDeviceIsLost) {
  Start(TestOptions(), [](const std::string& phase, OperatorReport*) {
    return phase == "Run" ? absl::UnavailableError("a fault") : absl::OkStatus();
  });
  EXPECT_EQ(Sort(4), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Counts(), IsEmpty()) << "this one was taken";
  // The parts of the server learn of it one after the other. A call accepted before gets the same end, but is not
  // counted.
  double counted = 0;
  const auto is_refused = [&](grpc::StatusCode code) {
    EXPECT_EQ(code, grpc::StatusCode::UNAVAILABLE);
    const double before = counted;
    const std::map<std::string, double> counts = Counts();
    counted = counts.empty() ? 0 : counts.begin()->second;
    return counted == before + 1;
  };
  EXPECT_TRUE(Eventually([&] { return is_refused(Execute()); }));
  EXPECT_TRUE(Eventually([&] { return is_refused(Sort(4)); }));
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("device_lost", 2)));
}

TEST_F(RefusedByTheServer, WhenPinnedMemoryIsShort) {
  Server::Options options = TestOptions();
  options.host_pool.max_bytes = 1 << 20;
  Start(options);
  puppet_->Hold();
  auto held = std::async(std::launch::async, [this] { return Sort(100'000); });
  puppet_->AwaitHeld(1);
  EXPECT_EQ(Sort(200'000), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(Counts(), UnorderedElementsAre(Pair("memory", 1)));
  puppet_->Release();
  EXPECT_EQ(held.get(), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace corank::testing
