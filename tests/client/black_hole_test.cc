// Calls over stalled connections: each ends at its deadline, however much it still has to send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "corank/client.h"
#include "grpc/grpc.h"
#include "tests/client/process.h"
#include "tests/client/stalling_proxy.h"

namespace corank::client {
namespace {

using corank::testing::Eventually;
using corank::testing::Finished;
using corank::testing::StallingProxy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// More than sockets hold and HTTP/2 lets a caller send ahead.
constexpr int64_t kBytes = int64_t{8} << 20;
constexpr int64_t kMiddle = int64_t{1} << 20;
/// By then HTTP/2 has started, and nothing is answered yet.
constexpr int64_t kGreeting = 100;

struct Way {
  const char* name;
  Place place;
  int connections;
};
struct Stall {
  const char* name;
  StallingProxy::Direction direction;
  int64_t bytes;
};

class BlackHole : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new corank::testing::Server();
    keys_ = new std::vector<uint32_t>(kBytes / 4);
    std::iota(keys_->rbegin(), keys_->rend(), 0);
  }
  static void TearDownTestSuite() {
    delete server_;
    delete keys_;
  }
  void SetUp() override { ASSERT_NE(server_->address(), ""); }

  /// Without keepalive, so that only the deadline can end a call.
  static ClientOptions Options(const StallingProxy& proxy) {
    ClientOptions options;
    options.address = proxy.address();
    options.keepalive_time = absl::InfiniteDuration();
    return options;
  }
  static Client Connect(const ClientOptions& options) {
    absl::StatusOr<Client> client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static CallOptions Within(absl::Duration deadline) {
    CallOptions call;
    call.deadline = deadline;
    return call;
  }

  /// Runs `attempt`, whose call has this deadline, with enough time to reach the point where it stalls.
  template <typename Attempt>
  static void WithEnoughTime(const Stall& stall, Attempt attempt) {
    for (absl::Duration deadline = absl::Milliseconds(400); deadline < absl::Minutes(1); deadline *= 3) {
      StallingProxy proxy(server_->address());
      proxy.StallAfter(0, stall.direction, stall.bytes);
      attempt(proxy, deadline);
      if (proxy.stalled() == 1) return;
    }
    ADD_FAILURE() << "no call came to where it should stand still";
  }

  static corank::testing::Server* server_;
  static std::vector<uint32_t>* keys_;
};

corank::testing::Server* BlackHole::server_ = nullptr;
std::vector<uint32_t>* BlackHole::keys_ = nullptr;

class BlackHoleAnywhere : public BlackHole, public ::testing::WithParamInterface<std::tuple<Way, Stall>> {};

INSTANTIATE_TEST_SUITE_P(
    Places, BlackHoleAnywhere,
    ::testing::Combine(::testing::Values(Way{"Inline", Place::kInline, 0}, Way{"Stream", Place::kStream, 1},
                                         Way{"StreamInParts", Place::kStream, 3}, Way{"Automatic", Place::kAuto, 0}),
                       ::testing::Values(Stall{"Start", StallingProxy::kToServer, 0},
                                         Stall{"Answer", StallingProxy::kToCaller, kGreeting},
                                         Stall{"Upload", StallingProxy::kToServer, kMiddle},
                                         Stall{"Download", StallingProxy::kToCaller, kMiddle})),
    [](const auto& info) { return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name; });

TEST_P(BlackHoleAnywhere, EndsTheCallAtItsDeadline) {
  const auto& [way, stall] = GetParam();
  WithEnoughTime(stall, [&way = way](const StallingProxy& proxy, absl::Duration deadline) {
    ClientOptions options = Options(proxy);
    options.place = way.place;
    options.connections = way.connections;
    const auto sorted = Connect(options).Sort(*keys_, {}, Within(deadline));
    EXPECT_TRUE(absl::IsDeadlineExceeded(sorted.status())) << sorted.status();
    EXPECT_THAT(std::string(sorted.status().message()), HasSubstr("the deadline passed"));
  });
}

// Other calls write behind the stalled message.
TEST_F(BlackHole, EndsSmallCallsOfTheSameConnectionToo) {
  StallingProxy proxy(server_->address());
  proxy.StallAfter(0, StallingProxy::kToServer, kMiddle);
  ClientOptions options = Options(proxy);
  options.place = Place::kInline;
  const Client client = Connect(options);
  Cancellation cancellation;
  CallOptions large = Within(absl::Minutes(5));
  large.cancellation = &cancellation;
  absl::Status status;
  std::thread uploading([&] { status = client.Sort(*keys_, {}, large).status(); });
  EXPECT_TRUE(Eventually([&] { return proxy.stalled() == 1; }));
  const auto info = client.GetServerInfo(Within(absl::Milliseconds(200)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(info.status())) << info.status();
  cancellation.Cancel();
  uploading.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST_F(BlackHole, EndsACancelledCall) {
  for (const Place place : {Place::kInline, Place::kStream}) {
    StallingProxy proxy(server_->address());
    proxy.StallAfter(0, StallingProxy::kToServer, kMiddle);
    const Client client = Connect(Options(proxy));
    Cancellation cancellation;
    CallOptions call = Within(absl::Minutes(5));
    call.cancellation = &cancellation;
    call.place = place;
    std::thread cancelling([&] {
      EXPECT_TRUE(Eventually([&] { return proxy.stalled() == 1; }));
      cancellation.Cancel();
    });
    const auto sorted = client.Sort(*keys_, {}, call);
    cancelling.join();
    EXPECT_TRUE(absl::IsCancelled(sorted.status())) << sorted.status();
  }
}

TEST_F(BlackHole, LeavesTheNextCallAnotherConnection) {
  WithEnoughTime({"Upload", StallingProxy::kToServer, kMiddle},
                 [](const StallingProxy& proxy, absl::Duration deadline) {
                   ClientOptions options = Options(proxy);
                   options.place = Place::kInline;
                   const Client client = Connect(options);
                   EXPECT_TRUE(absl::IsDeadlineExceeded(client.Sort(*keys_, {}, Within(deadline)).status()));
                   if (proxy.stalled() == 0) return;
                   const auto sorted = client.Sort(std::vector<int>{3, 1, 2}, {}, Within(absl::Minutes(1)));
                   ASSERT_TRUE(sorted.ok()) << sorted.status();
                   EXPECT_THAT(sorted->keys, ElementsAre(1, 2, 3));
                   EXPECT_EQ(proxy.connections(), 2);
                 });
}

// No call's deadline is near: keepalive detects the dead connection, and the call continues over another one.
TEST_F(BlackHole, KeepaliveFindsADeadConnection) {
  for (const auto direction : {StallingProxy::kToServer, StallingProxy::kToCaller}) {
    StallingProxy proxy(server_->address());
    proxy.StallAfter(0, direction, kMiddle);
    ClientOptions options = Options(proxy);
    options.place = Place::kInline;
    options.keepalive_time = absl::Milliseconds(500);
    options.keepalive_timeout = absl::Milliseconds(500);
    const auto sorted = Connect(options).Sort(*keys_, {}, Within(absl::Minutes(5)));
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_TRUE(std::is_sorted(sorted->keys.begin(), sorted->keys.end()));
    EXPECT_GE(sorted->stats.attempts, 2) << "on a stalled machine, the next connection may seem dead, too";
    EXPECT_EQ(proxy.stalled(), 1);
  }
}

TEST_F(BlackHole, CommandLineSaysSoAndLeavesNoFile) {
  corank::testing::TemporaryFolder folder;
  corank::testing::WriteFile(folder.Path("keys.bin"),
                             std::string(reinterpret_cast<const char*>(keys_->data()), kBytes));
  for (const char* place : {"inline", "stream"}) {
    for (const auto direction : {StallingProxy::kToServer, StallingProxy::kToCaller}) {
      WithEnoughTime({"", direction, kMiddle}, [&](const StallingProxy& proxy, absl::Duration deadline) {
        const Finished done = corank::testing::RunToEnd(
            {CORANK_BINARY, "sort", folder.Path("keys.bin"), "-t", "u32", "-o", folder.Path("sorted.bin"), "--server",
             proxy.address(), "--deadline", absl::FormatDuration(deadline), "--place", place});
        // If there was no time to connect, the result is the same as without a server.
        EXPECT_TRUE(done.exit_code == 1 || (proxy.stalled() == 0 && done.exit_code == 4)) << done.exit_code << done.err;
        EXPECT_THAT(done.err, HasSubstr("corank sort: the deadline passed"));
        EXPECT_THAT(done.err, HasSubstr("; give it more time with --deadline"));
        EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
        EXPECT_THAT(folder.Names(), ElementsAre("keys.bin"));
      });
    }
  }
}

// gRPC's shutdown would wait for the threads of a stalled connection.
TEST(LastClient, LeavesGrpcInitialized) {
  ASSERT_TRUE(Client::Create().ok());
  EXPECT_NE(grpc_is_initialized(), 0);
}

}  // namespace
}  // namespace corank::client
