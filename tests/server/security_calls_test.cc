// Permissions over the wire: tokens, methods, and tenants that do not see each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/descriptor.h"
#include "tests/server/doubles.h"
#include "tests/server/good_requests.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/secured_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMemory[] = "/corank.v1.MemoryService/";
constexpr char kCorank[] = "/corank.v1.CorankService/";

class SecurityCallsTest : public ::testing::Test {
 protected:
  SecurityCallsTest()
      : tokens_(folder_.Write("tokens",
                              absl::StrCat(TokenLine("left", "l-token", "all"), TokenLine("right", "r-token", "all"),
                                           TokenLine("narrow", "n-token", "sort")))),
        server_([this] {
          Server::Options options = SecuredOptions();
          options.security.tokens_file = tokens_;
          return options;
        }()) {}
  ~SecurityCallsTest() override { ExpectAllFreed(server_.server()); }

  TestCaller As(const std::string& token) const { return TestCaller(Connect(server_.server().address()), token); }
  double Refused(absl::string_view reason) const { return RefusedSoFar(server_.server(), reason); }

  // Every method, with an empty message.
  std::vector<std::string> AllMethods() const {
    std::vector<std::string> methods;
    for (const char* name : {"corank.v1.CorankService", "corank.v1.MemoryService"}) {
      const auto* const service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i) {
        methods.push_back(absl::StrCat("/", name, "/", service->method(i)->name()));
      }
    }
    return methods;
  }

  const TestFolder folder_;
  const std::string tokens_;
  const RunningServer server_;
};

TEST_F(SecurityCallsTest, NoMethodAnswersACallerWithoutAKnownToken) {
  const std::vector<std::string> methods = AllMethods();
  ASSERT_GE(methods.size(), 19U);
  const std::pair<const char*, const char*> kBad[] = {{"", "credentials are missing"},
                                                      {"Bearer nobody's", "token is not known"},
                                                      {"Bearer ", "is empty"},
                                                      {"l-token", "'Bearer <token>'"}};
  int calls = 0;
  for (const std::string& method : methods) {
    for (const auto& [value, reason] : kBad) {
      grpc::ClientContext context;
      if (*value != 0) context.AddMetadata("authorization", value);
      const grpc::Status status = CallRaw(server_.channel(), method, &context, "");
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(reason)) << method;
      ++calls;
    }
  }
  EXPECT_EQ(Refused("unauthenticated"), calls);
  EXPECT_EQ(server_.server().arrays().used_bytes(), 0);
  EXPECT_EQ(server_.server().regions().region_count(), 0);
}

TEST_F(SecurityCallsTest, WrongTokensAreCountedAndFillNoLog) {
  FakeClock clock;
  absl::Mutex mutex;
  std::vector<std::string> lines;
  const Logger logger(
      LogLevel::kInfo,
      [&](absl::string_view line) {
        if (!absl::StrContains(line, "UNAUTHENTICATED")) return;
        absl::MutexLock lock(&mutex);
        lines.emplace_back(line);
      },
      LogFormat::kJson, &clock);
  Server::Options options = SecuredOptions();
  options.security.tokens_file = tokens_;
  std::vector<ChosenEngine> engines;
  engines.push_back(CpuEngine());
  const auto server = *Server::Start(options, std::move(engines), &Clock::Steady(), &logger);
  const auto channel = Connect(server->address());
  int calls = 0;
  const auto call = [&] {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer nobody's");
    const bool is_sort = calls++ % 2 == 0;
    const std::string method = absl::StrCat(is_sort ? kCorank : kMemory, is_sort ? "Sort" : "ListRegions");
    EXPECT_EQ(CallRaw(channel, method, &context, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  };
  const auto written = [&] {
    absl::MutexLock lock(&mutex);
    return lines;
  };
  while (calls < LogLimit::kBurst) call();
  EXPECT_EQ(written().size(), LogLimit::kBurst);
  constexpr int kLeftOut = 500;
  for (int i = 0; i < kLeftOut; ++i) call();
  EXPECT_EQ(written().size(), LogLimit::kBurst) << "no line more without time";
  clock.Advance(std::chrono::seconds(1));
  for (int i = 0; i < 2 * LogLimit::kPerSecond; ++i) call();
  ASSERT_EQ(written().size(), LogLimit::kBurst + LogLimit::kPerSecond);
  EXPECT_THAT(written()[LogLimit::kBurst], HasSubstr(absl::StrCat("\"left_out\":", kLeftOut, "}")));
  EXPECT_THAT(written().back(), Not(HasSubstr("left_out")));
  EXPECT_EQ(RefusedSoFar(*server, "unauthenticated"), calls);
}

TEST_F(SecurityCallsTest, AKnownTokenIsServed) {
  const TestCaller left = As("l-token");
  EXPECT_TRUE(left.Sort().ok());
  EXPECT_TRUE(left.Info().ok());
  EXPECT_TRUE(left.Store("a", 7).ok());
  const auto context = left.Context();
  const std::vector<int32_t> keys = {3, 1, 2};
  const StreamedAnswer answer =
      Execute(left.stub(), SortPlan(v1::ELEMENT_TYPE_INT32, 3),
              Chunks({{0, 4, std::string(reinterpret_cast<const char*>(keys.data()), 12)}}, 2), context.get());
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(Refused("unauthenticated"), 0);
  EXPECT_EQ(Refused("forbidden"), 0);
}

TEST_F(SecurityCallsTest, HealthIsForAllAndReflectionForNobody) {
  grpc::ClientContext health, reflection;
  EXPECT_TRUE(CallRaw(server_.channel(), "/grpc.health.v1.Health/Check", &health, "").ok());
  EXPECT_EQ(
      CallRaw(server_.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &reflection, "")
          .error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
}

// Each permission: without it, its methods are refused with its name; with it, they are not refused for lack of it.
TEST_F(SecurityCallsTest, APermissionIsForWhatItNames) {
  const TestCaller all = As("l-token");
  const TestCaller narrow = As("n-token");
  const SharedObject object(4096);
  const auto sort_of = [](const std::function<void(v1::SortRequest*)>& change) {
    return [change](const TestCaller& caller, grpc::ClientContext* context) {
      v1::SortRequest request;
      *request.mutable_keys() = Int32s({2, 1});
      change(&request);
      v1::SortResponse response;
      return caller.stub().Sort(context, request, &response);
    };
  };
  const auto raw = [](const std::string& method) {
    return [method](const TestCaller& caller, grpc::ClientContext* context) {
      return CallRaw(caller.channel(), method, context, "");
    };
  };
  const auto plan_of = [](const std::function<void(v1::Operation*)>& change) {
    return [change](const TestCaller& caller, grpc::ClientContext* context) {
      v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_INT32, 0);
      change(plan.mutable_operations(0));
      return Execute(caller.stub(), plan, {}, context).status;
    };
  };
  const struct {
    const char* what;
    const char* permission;
    const char* field;
    std::function<grpc::Status(const TestCaller&, grpc::ClientContext*)> call;
  } kCases[] = {
      {"Merge", "'merge'", "", raw(absl::StrCat(kCorank, "Merge"))},
      {"MoveIntervals", "'move-intervals'", "", raw(absl::StrCat(kCorank, "MoveIntervals"))},
      {"Search", "'search'", "", raw(absl::StrCat(kCorank, "Search"))},
      {"a plan of Merge", "'merge'", "", plan_of([](v1::Operation* operation) { operation->mutable_merge(); })},
      {"keys in shared memory", "'shared-memory'", "keys.shared_memory",
       sort_of([](v1::SortRequest* r) { r->mutable_keys()->mutable_shared_memory()->set_region("r"); })},
      {"keys in GPU memory", "'cuda-ipc'", "keys.cuda_ipc",
       sort_of([](v1::SortRequest* r) { r->mutable_keys()->mutable_cuda_ipc()->set_region("r"); })},
      {"kept keys", "'stored-arrays'", "keys.stored",
       sort_of([](v1::SortRequest* r) { r->mutable_keys()->mutable_stored()->set_name("a"); })},
      {"a result in shared memory", "'shared-memory'", "keys_destination.shared_memory",
       sort_of([](v1::SortRequest* r) { r->mutable_keys_destination()->mutable_shared_memory()->set_region("r"); })},
      {"a result in GPU memory", "'cuda-ipc'", "keys_destination.cuda_ipc",
       sort_of([](v1::SortRequest* r) { r->mutable_keys_destination()->mutable_cuda_ipc()->set_region("r"); })},
      {"a result to keep", "'stored-arrays'", "keys_destination.stored",
       sort_of([](v1::SortRequest* r) { r->mutable_keys_destination()->mutable_stored()->set_name("a"); })},
      {"a plan with a result to keep", "'stored-arrays'", "plan.operations[0].keys_destination.stored",
       plan_of(
           [](v1::Operation* o) { o->mutable_sort()->mutable_keys_destination()->mutable_stored()->set_name("a"); })},
      {"RegisterSharedMemory", "'shared-memory'", "", raw(absl::StrCat(kMemory, "RegisterSharedMemory"))},
      {"RegisterCudaIpc", "'cuda-ipc'", "", raw(absl::StrCat(kMemory, "RegisterCudaIpc"))},
      {"StoreArray", "'stored-arrays'", "", raw(absl::StrCat(kMemory, "StoreArray"))},
      {"FetchArray", "'stored-arrays'", "", raw(absl::StrCat(kMemory, "FetchArray"))},
      {"ListArrays", "'stored-arrays'", "", raw(absl::StrCat(kMemory, "ListArrays"))},
      {"DeleteArray", "'stored-arrays'", "", raw(absl::StrCat(kMemory, "DeleteArray"))},
  };
  int refused = 0;
  for (const auto& test : kCases) {
    const auto call = [&test](const TestCaller& caller) {
      return caller.Run([&](grpc::ClientContext* context) { return test.call(caller, context); });
    };
    const grpc::Status without = call(narrow);
    EXPECT_EQ(without.error_code(), grpc::StatusCode::PERMISSION_DENIED) << test.what << without.error_message();
    EXPECT_THAT(without.error_message(), AllOf(HasSubstr("'narrow'"), HasSubstr(test.permission))) << test.what;
    EXPECT_EQ(BadField(without), test.field) << test.what;
    EXPECT_NE(call(all).error_code(), grpc::StatusCode::PERMISSION_DENIED) << test.what;
    ++refused;
  }
  EXPECT_TRUE(Eventually([&] { return Refused("forbidden") == refused; })) << Refused("forbidden");
  EXPECT_TRUE(narrow.Sort().ok());
  EXPECT_TRUE(narrow.Info().ok());
  EXPECT_EQ(narrow.memory().Register(object, "r").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const auto context = narrow.Context();
  EXPECT_EQ(narrow.memory().stub().OpenLease(context.get(), {})->Finish().error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(SecurityCallsTest, KeptArraysOfATenantAreItsOwn) {
  const TestCaller left = As("l-token"), right = As("r-token");
  ASSERT_TRUE(left.Store("a", 1).ok());
  int32_t value = 0;
  EXPECT_EQ(right.Fetch("a", &value).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(right.memory().List().arrays_size(), 0);
  EXPECT_EQ(right.memory().Delete("a").error_code(), grpc::StatusCode::NOT_FOUND);
  v1::SortRequest sort;
  *sort.mutable_keys() = Kept("a");
  v1::SortResponse sorted;
  EXPECT_EQ(right.stub().Sort(right.Context().get(), sort, &sorted).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(left.stub().Sort(left.Context().get(), sort, &sorted).ok());
  ASSERT_TRUE(right.Store("a", 2).ok()) << "the name is free for another tenant";
  EXPECT_TRUE(left.Fetch("a", &value).ok());
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(right.Fetch("a", &value).ok());
  EXPECT_EQ(value, 2);
}

TEST_F(SecurityCallsTest, RegionsAndLeasesOfATenantAreItsOwn) {
  const TestCaller left = As("l-token"), right = As("r-token");
  const SharedObject object(4096);
  ASSERT_TRUE(left.memory().Register(object, "r").ok());
  v1::ListRegionsResponse list;
  EXPECT_TRUE(right.memory().stub().ListRegions(right.Context().get(), {}, &list).ok());
  EXPECT_EQ(list.regions_size(), 0);
  v1::SortRequest sort;
  *sort.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 4, 0);
  v1::SortResponse sorted;
  EXPECT_EQ(right.stub().Sort(right.Context().get(), sort, &sorted).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(left.stub().Sort(left.Context().get(), sort, &sorted).ok());
  EXPECT_EQ(right.memory().Unregister("r").error_code(), grpc::StatusCode::NOT_FOUND);
  // The end of a lease unregisters its regions: nobody may attach a region to another tenant's lease.
  const auto context = left.Context();
  const auto lease = left.memory().stub().OpenLease(context.get(), {});
  v1::OpenLeaseResponse opened;
  ASSERT_TRUE(lease->Read(&opened));
  EXPECT_FALSE(right.memory().Register(object, "s", 0, opened.lease_id()).ok());
  EXPECT_TRUE(left.memory().Register(object, "s", 0, opened.lease_id()).ok());
  context->TryCancel();
  lease->Finish();
}

// Both tenants run a job of two parts under the same id at the same time. Each gets its own keys back.
TEST_F(SecurityCallsTest, JobsOfATenantAreItsOwn) {
  const auto part_of = [this](const std::string& token, uint32_t part, int32_t key, StreamedAnswer* answer) {
    const TestCaller caller = As(token);
    v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_INT32, 2);
    plan.set_job_id("job");
    plan.set_parts(2);
    plan.set_part(part);
    const std::string bytes(reinterpret_cast<const char*>(&key), sizeof(key));
    *answer = Execute(caller.stub(), plan, Chunks({{0, 4, bytes, part}}, 1), caller.Context().get());
  };
  StreamedAnswer answers[4];
  {
    std::vector<std::thread> threads;
    threads.emplace_back(part_of, "l-token", 0, 11, &answers[0]);
    threads.emplace_back(part_of, "r-token", 1, 22, &answers[1]);
    ASSERT_TRUE(Eventually([this] { return server_.server().jobs().joining_jobs == 2; })) << "each waits for its own";
    threads.emplace_back(part_of, "l-token", 1, 12, &answers[2]);
    threads.emplace_back(part_of, "r-token", 0, 21, &answers[3]);
    for (std::thread& thread : threads) thread.join();
  }
  const auto keys_of = [](const std::vector<const StreamedAnswer*>& parts) {
    std::vector<int32_t> keys(2);
    for (const StreamedAnswer* part : parts) {
      EXPECT_TRUE(part->status.ok()) << part->status.error_message();
      for (const v1::ArrayChunk& chunk : part->chunks) {
        std::memcpy(keys.data() + chunk.first_element(), chunk.data().data(), chunk.data().size());
      }
    }
    return keys;
  };
  EXPECT_THAT(keys_of({&answers[0], &answers[2]}), ElementsAre(11, 12));
  EXPECT_THAT(keys_of({&answers[1], &answers[3]}), ElementsAre(21, 22));
}

TEST_F(SecurityCallsTest, ATokenThatIsTakenOutOfTheFileEndsNewCallsAndNoOldOnes) {
  const TestCaller left = As("l-token"), right = As("r-token");
  ASSERT_TRUE(left.Sort().ok());
  const auto context = left.Context();
  const auto stream = left.stub().Execute(context.get());
  v1::ExecuteRequest message;
  *message.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_INT32, 1);
  ASSERT_TRUE(stream->Write(message));
  ASSERT_TRUE(Eventually([this] { return server_.server().active_calls() == 1; }));
  folder_.Write("tokens", TokenLine("right", "r-token", "all"));
  EXPECT_TRUE(Eventually([&left] { return left.Sort().error_code() == grpc::StatusCode::UNAUTHENTICATED; }));
  EXPECT_TRUE(right.Sort().ok());
  folder_.Write("tokens", "broken");
  EXPECT_TRUE(right.Sort().ok());
  const int32_t key = 5;
  ASSERT_TRUE(stream->Write(Chunk(0, 0, std::string(reinterpret_cast<const char*>(&key), sizeof(key)))));
  stream->WritesDone();
  v1::ExecuteResponse answer;
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok()) << "the call had begun";
}

}  // namespace
}  // namespace corank::testing
