// Calls by gRPC's own client.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/wire/grpc_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

using ::testing::ElementsAre;

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& byte : text) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

TEST(CallsTest, EchoesMessagesOfEverySize) {
  WireServer server;
  const auto channel = Connect(server.port());
  for (const size_t size : {0, 1, 4, 5, 4095, 4096, 4097, 16379, 16384, 65530, 65535, 65536, 1 << 20, 20 << 20}) {
    const std::string message = Pattern(size);
    const Answer answer = Ask(channel, "/test/Echo", message);
    ASSERT_TRUE(answer.status.ok()) << size << ": " << answer.status.error_message();
    ASSERT_EQ(answer.messages.size(), 1) << size;
    ASSERT_TRUE(answer.messages[0] == message) << size;
  }
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(CallsTest, TakesManyMessagesInOneCall) {
  WireServer server;
  const auto channel = Connect(server.port());
  std::vector<std::string> messages;
  size_t total = 0;
  for (size_t size = 1; size < 3'000'000; size = size * 3 + 1) {
    messages.push_back(Pattern(size));
    total += size;
  }
  grpc::ClientContext context;
  const Answer answer = Stream(channel, "/test/Total", messages, &context);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_THAT(answer.messages, ElementsAre(absl::StrCat(total)));
}

TEST(CallsTest, SendsManyMessagesInOneCall) {
  WireServer server;
  const Answer answer = Ask(Connect(server.port()), "/test/Copies", "100");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_EQ(answer.messages.size(), 100);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(answer.messages[i], std::string(64 << 10, static_cast<char>('a' + (99 - i) % 26))) << i;
  }
}

TEST(CallsTest, AnswersCallsOfManyThreadsAndConnections) {
  WireServer server;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, channel = Connect(server.port())] {
      for (int i = 0; i < 100; ++i) {
        const std::string message = Pattern(static_cast<size_t>(i) * 997);
        const Answer answer = Ask(channel, "/test/Echo", message);
        if (answer.status.ok() && answer.messages.size() == 1 && answer.messages[0] == message) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 800);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(CallsTest, ReturnsStatusDetailsAndTrailers) {
  WireServer server;
  grpc::ClientContext context;
  const Answer answer = Stream(Connect(server.port()), "/test/Fail", {"x"}, &context);
  EXPECT_EQ(answer.status.error_code(), 9);
  EXPECT_EQ(answer.status.error_message(), "100 % \xe2\x98\xba");
  EXPECT_EQ(answer.status.error_details(), "\x08\x09");
  const auto& trailers = context.GetServerTrailingMetadata();
  ASSERT_EQ(trailers.count("note"), 1);
  EXPECT_EQ(trailers.find("note")->second, "a note");
  ASSERT_EQ(trailers.count("note-bin"), 1);
  EXPECT_EQ(trailers.find("note-bin")->second, grpc::string_ref("\0\xff", 2));
}

TEST(CallsTest, RefusesMethodsThatItDoesNotHave) {
  WireServer server;
  const Answer answer = Ask(Connect(server.port()), "/test/Nothing", "x");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(answer.status.error_message(), "this server has no method /test/Nothing");
}

TEST(CallsTest, TellsTheHandlerOfACallerThatCancels) {
  WireServer server;
  const auto channel = Connect(server.port());
  grpc::ClientContext context;
  std::thread caller([&] {
    const Answer answer = Stream(channel, "/test/Hang", {"x"}, &context);
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::CANCELLED);
  });
  while (server.seen().received_bytes == 0) std::this_thread::yield();
  context.TryCancel();
  caller.join();
  EXPECT_EQ(server.seen().AwaitCancel().code, kCancelled);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(CallsTest, GoesOnWhereAServerIsStartedAgain) {
  auto server = std::make_unique<WireServer>();
  const auto channel = Connect(server->port());
  EXPECT_TRUE(Ask(channel, "/test/Echo", "x").status.ok());
  server->server().Drain();
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (server->server().connections() > 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(server->server().connections(), 0) << "a connection without calls ends";
  // Nothing polls the channel between calls, so that the first one may meet the closed connection.
  Ask(channel, "/test/Echo", "x");
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  const grpc::Status status = Stream(channel, "/test/Echo", {"x"}, &context).status;
  EXPECT_TRUE(status.ok()) << "the client connects again: " << status.error_message();
}

TEST(CallsTest, EndsRunningCallsWhenItStops) {
  WireServer server;
  const auto channel = Connect(server.port());
  grpc::Status status;
  std::thread caller([&] { status = Ask(channel, "/test/Hang", "x").status; });
  while (server.seen().received_bytes == 0) std::this_thread::yield();
  server.server().Stop(std::chrono::milliseconds(100));
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

}  // namespace
}  // namespace corank::wire::testing
