// Which calls the client retries after which failure, how often, and after what delays: against servers that fail on
// request, in time that passes only in waits.
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corank/client.h"
#include "corank/errors.h"
#include "tests/client/local_socket.h"
#include "tests/client/puppet_memory.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"
#include "tests/client/virtual_clock.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Answers calls of any method with these statuses, one after the other, and then repeats the last one.
class FailingService final : public grpc::CallbackGenericService {
 public:
  explicit FailingService(std::vector<grpc::Status> statuses) : statuses_(std::move(statuses)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    class Reactor final : public grpc::ServerGenericBidiReactor {
     public:
      explicit Reactor(const grpc::Status& status) { Finish(status); }
      void OnDone() override { delete this; }
    };
    absl::MutexLock lock(&mutex_);
    ++calls_[context->method()];
    deadlines_.push_back(absl::FromChrono(context->deadline()));
    return new Reactor(statuses_[std::min(next_++, statuses_.size() - 1)]);
  }

  int calls(const std::string& method) {
    absl::MutexLock lock(&mutex_);
    return calls_[method];
  }
  /// The deadlines of all calls in order, as the client sent them.
  std::vector<absl::Time> deadlines() {
    absl::MutexLock lock(&mutex_);
    return deadlines_;
  }

 private:
  const std::vector<grpc::Status> statuses_;
  absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Time> deadlines_ ABSL_GUARDED_BY(mutex_);
};

class FailingServer {
 public:
  explicit FailingServer(std::vector<grpc::Status> statuses) : service_(std::move(statuses)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~FailingServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }
  int calls(const std::string& method) { return service_.calls(method); }
  std::vector<absl::Time> deadlines() { return service_.deadlines(); }

 private:
  FailingService service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

Client Connect(const std::string& address, const std::shared_ptr<RetryClock>& clock, ClientOptions options = {}) {
  options.address = address;
  options.retry.clock = clock;
  absl::StatusOr<Client> client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

const std::vector<uint32_t>& Keys() {
  static const auto* const keys = new std::vector<uint32_t>{3, 1, 2};
  return *keys;
}

SortRequest SortOf(ArrayView keys, Output output = {}) {
  SortRequest request;
  request.keys = std::move(keys);
  request.keys_output = std::move(output);
  return request;
}

/// A call of the client, its method, and whether it may run twice.
struct Kind {
  const char* name;
  const char* method;
  Repeat repeat;
  std::function<absl::Status(const Client&)> call;
};

std::vector<Kind> Kinds() {
  return {
      {"sort", "/corank.v1.CorankService/Sort", Repeat::kAlways,
       [](const Client& client) { return client.Sort(Keys()).status(); }},
      {"merge", "/corank.v1.CorankService/Merge", Repeat::kAlways,
       [](const Client& client) {
         return client.Merge(std::vector{Keys(), Keys()}).status();
       }},
      {"search", "/corank.v1.CorankService/Search", Repeat::kAlways,
       [](const Client& client) { return client.Search(Keys(), Keys()).status(); }},
      {"sort of a kept array", "/corank.v1.CorankService/Sort", Repeat::kAlways,
       [](const Client& client) {
         return client.Sort(SortOf(StoredArray{"a", KeyType::kUint32, 3, {}}.view())).status();
       }},
      {"sort whose result is kept", "/corank.v1.CorankService/Sort", Repeat::kUnlessLost,
       [](const Client& client) { return client.Sort(SortOf(ViewOf(Keys()), Stored("a"))).status(); }},
      {"info", "/corank.v1.CorankService/GetServerInfo", Repeat::kAlways,
       [](const Client& client) { return client.GetServerInfo().status(); }},
      {"store", "/corank.v1.MemoryService/StoreArray", Repeat::kUnlessLost,
       [](const Client& client) { return client.Store("a", ViewOf(Keys())).status(); }},
      {"fetch", "/corank.v1.MemoryService/FetchArray", Repeat::kAlways,
       [](const Client& client) { return client.Fetch("a").status(); }},
      {"list arrays", "/corank.v1.MemoryService/ListArrays", Repeat::kAlways,
       [](const Client& client) { return client.ListArrays().status(); }},
      {"delete", "/corank.v1.MemoryService/DeleteArray", Repeat::kUnlessLost,
       [](const Client& client) { return client.DeleteArray("a"); }},
      {"register", "/corank.v1.MemoryService/OpenLease", Repeat::kAlways,
       [](const Client& client) { return client.Register(*SharedMemory::Create(1)).status(); }},
      {"list regions", "/corank.v1.MemoryService/ListRegions", Repeat::kAlways,
       [](const Client& client) { return client.ListRegions().status(); }},
      {"unregister", "/corank.v1.MemoryService/UnregisterRegion", Repeat::kAlways,
       [](const Client& client) { return client.Unregister("a"); }},
  };
}

struct Answer {
  grpc::Status status;
  Failure failure;
};

std::vector<Answer> Answers() {
  std::vector<Answer> answers;
  for (int number = 1; number <= 16; ++number) {
    const auto code = static_cast<grpc::StatusCode>(number);
    const bool is_lost = code == grpc::StatusCode::UNAVAILABLE;
    const bool is_refused = is_lost || code == grpc::StatusCode::RESOURCE_EXHAUSTED;
    answers.push_back({grpc::Status(code, "Socket closed"), is_lost ? Failure::kLost : Failure::kFinal});
    answers.push_back(
        {RetryLater(code, "full", absl::Milliseconds(7)), is_refused ? Failure::kRefused : Failure::kFinal});
  }
  return answers;
}

TEST(RetriedCalls, EveryKindOfCallAfterEveryStatus) {
  for (const Answer& answer : Answers()) {
    FailingServer server({answer.status});
    for (const Kind& kind : Kinds()) {
      SCOPED_TRACE(absl::StrCat(kind.name, ", ", answer.status.error_code(), " ", answer.status.error_message()));
      const bool is_tried = answer.failure == Failure::kRefused
                                ? kind.repeat != Repeat::kNever
                                : answer.failure == Failure::kLost && kind.repeat == Repeat::kAlways;
      const int before = server.calls(kind.method);
      const auto clock = std::make_shared<VirtualClock>(0.5);
      const absl::Status status = kind.call(Connect(server.address(), clock));
      EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(answer.status.error_code())) << status;
      EXPECT_EQ(server.calls(kind.method) - before, is_tried ? 6 : 1) << status;
      EXPECT_EQ(clock->sleeps().size(), is_tried ? 5u : 0u);
      const std::string message(status.message());
      const bool is_held_back = !is_tried && answer.failure == Failure::kLost;
      EXPECT_EQ(absl::StrContains(message, "(tried 6 times in"), is_tried) << message;
      EXPECT_EQ(absl::StrContains(message, "no more than 6 tries are allowed"), is_tried) << message;
      EXPECT_EQ(absl::StrContains(message, "(not tried again: it may have been done"), is_held_back) << message;
    }
  }
}

TEST(RetriedCalls, EveryCallIsTriedAgainWhereItNeverLeft) {
  std::string address;
  {
    PuppetService service;
    address = PuppetServer(&service).address();  // nobody listens there any more
  }
  for (const Kind& kind : Kinds()) {
    const auto clock = std::make_shared<VirtualClock>(0.5);
    const absl::Status status = kind.call(Connect(address, clock));
    EXPECT_EQ(clock->sleeps().size(), 5u) << kind.name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no corank server answers at " + address));
  }
}

TEST(RetriedCalls, AServerThatComesWhileACallWaitsIsFound) {
  auto reserved = std::make_unique<testing::LocalSocket>(false);
  ClientOptions options;
  options.address = reserved->address();
  options.retry.max_attempts = 40;
  options.retry.initial_delay = options.retry.max_delay = absl::Milliseconds(100);  // 2 s in all
  options.retry.budget_tokens = 0;
  const Client client = *Client::Create(options);
  TransferProgress progress;
  CallOptions call;
  call.progress = &progress;
  absl::StatusOr<SortResult<uint32_t>> sorted = absl::UnknownError("");
  std::thread caller([&] { sorted = client.Sort(Keys(), {}, call); });
  while (progress.attempt < 2) absl::SleepFor(absl::Milliseconds(1));
  PuppetService service;
  service.on_sort = StandInSort;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  reserved.reset();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  caller.join();
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_GT(sorted->stats.attempts, 1);
  server->Shutdown();
}

class RetryTest : public ::testing::Test {
 protected:
  RetryTest() { service_.info = InfoOfAllPlaces(); }

  /// Fails `times` times with this status, then sorts.
  void FailSorts(int times, const grpc::Status& status) {
    service_.on_sort = [this, times, status](grpc::ServerContext* context, const v1::SortRequest& request,
                                             v1::SortResponse* response) {
      return ++sorts_ <= times ? status : StandInSort(context, request, response);
    };
  }
  Client Connect(ClientOptions options = {}) { return client::Connect(server_.address(), clock_, std::move(options)); }

  const grpc::Status lost_{grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  const grpc::Status full_ = RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Seconds(1));
  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>(0.0);
  std::atomic<int> sorts_{0};
  PuppetMemory memory_;
  PuppetService service_;
  PuppetServer server_{&service_, &memory_};
};

TEST_F(RetryTest, TheServersDelayIsWaitedForEachTime) {
  FailSorts(3, full_);
  const auto sorted = Connect().Sort(Keys());
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(1, 2, 3));
  EXPECT_EQ(sorted->stats.attempts, 4);
  EXPECT_THAT(clock_->sleeps(), ElementsAre(absl::Seconds(1), absl::Seconds(1), absl::Seconds(1)));
}

TEST_F(RetryTest, NoWaitGoesBeyondTheDeadline) {
  FailSorts(100, full_);
  CallOptions call;
  call.deadline = absl::Seconds(2.5);
  const absl::Status status = Connect().Sort(Keys(), {}, call).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(RetryDelay(status), absl::Seconds(1));
  EXPECT_EQ(sorts_, 3);
  EXPECT_EQ(clock_->sleeps().size(), 2u);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(tried 3 times in 2s: the next try would begin after the deadline)"));
}

TEST_F(RetryTest, ATryThatMeetsTheDeadlineTellsWhatWasBefore) {
  service_.on_sort = [this](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) {
    return ++sorts_ == 1 ? full_ : grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too late");
  };
  const absl::Status status = Connect().Sort(Keys()).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(tried 2 times in 1s; the try before: full"));
}

TEST_F(RetryTest, ClientsOfAServerThatRefusesEverythingSoonAskOnce) {
  FailSorts(1000, full_);
  const Client client = Connect();
  for (int i = 0; i < 100; ++i) (void)client.Sort(Keys());
  EXPECT_EQ(sorts_, 100 + 8);  // 10 of 20 tokens may be spent: 5 retries of the first call, 3 of the second
  const absl::Status status = client.Sort(Keys()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("(not tried again: too many calls of this client fail now"));
  FailSorts(0, full_);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(client.Sort(Keys()).ok());
  sorts_ = 0;
  FailSorts(2, full_);
  EXPECT_EQ(client.Sort(Keys())->stats.attempts, 3);
}

TEST_F(RetryTest, ToWaitForAServerSpendsNoRetries) {
  FailingServer server({lost_});
  const Client client = client::Connect(server.address(), clock_);
  CallOptions call;
  call.deadline = absl::Seconds(1);
  EXPECT_TRUE(absl::IsUnavailable(client.AwaitHealth("ready", call).status()));
  EXPECT_GT(server.calls("/grpc.health.v1.Health/Watch"), 2);
  EXPECT_TRUE(absl::IsUnavailable(client.Sort(Keys()).status()));
  EXPECT_EQ(server.calls("/corank.v1.CorankService/Sort"), 6);
}

TEST_F(RetryTest, CancellationEndsTheWait) {
  FailSorts(100, full_);
  Cancellation cancellation;
  clock_->on_sleep = [&cancellation] { cancellation.Cancel(); };
  CallOptions call;
  call.cancellation = &cancellation;
  const absl::Status status = Connect().Sort(Keys(), {}, call).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("full"));
  EXPECT_EQ(sorts_, 1);
}

TEST_F(RetryTest, ProgressShowsTheTries) {
  FailSorts(1, full_);
  TransferProgress progress;
  clock_->on_sleep = [&progress] {
    EXPECT_TRUE(progress.is_waiting);
    EXPECT_EQ(progress.attempt, 2);
  };
  CallOptions call;
  call.progress = &progress;
  ASSERT_TRUE(Connect().Sort(Keys(), {}, call).ok());
  EXPECT_FALSE(progress.is_waiting);
  EXPECT_EQ(progress.attempt, 2);
  EXPECT_EQ(clock_->sleeps().size(), 1u);
}

TEST_F(RetryTest, ResultsInRegionsAreWrittenTwiceOnlyWhereTheServerIsThroughAndNeverOverInputs) {
  ClientOptions options;
  options.retry.budget_tokens = 0;
  const Client client = Connect(options);
  const auto memory = SharedMemory::Create(64, "/corank-puppet-");
  ASSERT_TRUE(client.Register(*memory).ok());
  const absl::Span<uint32_t> keys = memory->span<uint32_t>(0, 3), other = memory->span<uint32_t>(32, 3);
  const struct {
    const char* name;
    absl::Span<uint32_t> to;
    grpc::Status status;
    int sorts;
  } cases[] = {{"over its keys, refused", keys, full_, 1},
               {"over its keys, lost", keys, lost_, 1},
               {"over one key", memory->span<uint32_t>(8, 3), full_, 1},
               {"beside its keys, refused", other, full_, 6},
               {"beside its keys, lost", other, lost_, 1}};
  for (const auto& c : cases) {
    sorts_ = 0;
    FailSorts(100, c.status);
    const absl::Status status = client.SortInto(keys, c.to).status();
    EXPECT_EQ(sorts_, c.sorts) << c.name << ": " << status;
    EXPECT_EQ(absl::StrContains(status.message(), "(not tried again: it"), c.sorts == 1) << c.name << ": " << status;
  }
  sorts_ = 0;
  FailSorts(1, lost_);
  EXPECT_EQ(client.Sort(keys)->stats.attempts, 2);  // it reads the region and changes nothing
}

TEST_F(RetryTest, ACallThroughTheClientsOwnRegionThatIsLostGetsAnotherRegion) {
  FailSorts(1, lost_);
  CallOptions call;
  call.place = Place::kSharedMemory;
  const auto sorted = Connect().Sort(Keys(), {}, call);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(1, 2, 3));
  EXPECT_EQ(sorts_, 2);
  EXPECT_EQ(memory_.registered, 2);
}

TEST_F(RetryTest, StreamsAreSentAgainWhole) {
  for (const bool is_kept : {false, true}) {
    for (const grpc::Status& status : {full_, lost_}) {
      std::atomic<int> calls{0};
      service_.on_sort = StandInSort;
      service_.on_execute = [&](grpc::ServerContext* context, ExecuteStream* stream) {
        return ++calls == 1 ? status : service_.execute.Serve(context, stream);
      };
      CallOptions call;
      call.place = Place::kStream;
      const auto sorted = Connect().Sort(SortOf(ViewOf(Keys()), is_kept ? Stored("a") : Output()), call);
      const bool is_tried = !is_kept || !status.error_details().empty();
      EXPECT_EQ(sorted.ok(), is_tried) << sorted.status();
      EXPECT_EQ(calls, is_tried ? 2 : 1);
    }
  }
}

TEST_F(RetryTest, AnUnregistrationWhoseAnswerWasLostIsDone) {
  const grpc::Status not_found(grpc::StatusCode::NOT_FOUND, "no such region");
  FailingServer lost({lost_, not_found}), refused({full_, not_found});
  EXPECT_TRUE(client::Connect(lost.address(), clock_).Unregister("a").ok());
  EXPECT_TRUE(absl::IsNotFound(client::Connect(refused.address(), clock_).Unregister("a")));
}

TEST_F(RetryTest, EveryTryOfAnUnregistrationHasTheDeadlineOfTheCall) {
  FailingServer server({RetryLater(grpc::StatusCode::UNAVAILABLE, "full", absl::Seconds(40)),
                        grpc::Status(grpc::StatusCode::NOT_FOUND, "no such region")});
  CallOptions call;
  call.deadline = absl::Seconds(60);
  EXPECT_TRUE(absl::IsNotFound(client::Connect(server.address(), clock_).Unregister("a", call)));
  const std::vector<absl::Time> deadlines = server.deadlines();
  ASSERT_EQ(deadlines.size(), 2u);
  EXPECT_LT(deadlines[1] - deadlines[0], absl::Seconds(20));
}

}  // namespace
}  // namespace corank::client
