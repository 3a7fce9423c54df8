// Listening sockets: their addresses and peers.
#include "server/security/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/running_server.h"
#include "tests/server/test_certificates.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ListenAddress, Parses) {
  EXPECT_EQ(ListenAddress::Parse("[::1]:50")->ToString(), "[::1]:50");
  EXPECT_EQ(ListenAddress::Parse("host:0")->ToString(), "host:0");
  EXPECT_EQ(ListenAddress::Parse("unix:/run/x")->ToString(), "unix:/run/x");
  for (const char* bad : {"", "host", ":1", "host:", "host:65536", "host:-1", "host:+1", "host:x", "host:1x",
                          "host:1:2", "+host:1", "1,host:2", "::1:50", "[::1:50", "[]:50", "unix:"}) {
    EXPECT_THAT(ListenAddress::Parse(bad).status().message(), HasSubstr("is not")) << bad;
  }
  EXPECT_THAT(ListenAddress::Parse("unix:" + std::string(108, 'x')).status().message(),
              HasSubstr("is not unix:PATH with a path of 1 to 107 characters"));
  EXPECT_TRUE(ListenAddress::Parse("unix:" + std::string(107, 'x')).ok());
}

class ListenerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Listener> Listen(const std::string& address) {
    auto made = Listener::Create(*ListenAddress::Parse(address), /*user_timeout_ms=*/0, &logger_);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::string Error(const std::string& address) {
    return std::string(Listener::Create(*ListenAddress::Parse(address), 0, &logger_).status().message());
  }
  static int Connect(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(ListenAddress::Parse(address)->port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }
  // The state that a killed process leaves. Everybody may connect to it.
  void LeaveSocket(absl::string_view file) const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    folder_.Path(file).copy(name.sun_path, sizeof(name.sun_path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    ASSERT_EQ(chmod(name.sun_path, 0777), 0);
    close(fd);
  }

  const Logger logger_{LogLevel::kError};
  const TestFolder folder_;
};

TEST_F(ListenerTest, HandsOverConnectionsWithTheirPeer) {
  absl::Mutex mutex;
  std::string peer;
  const auto listener = Listen("127.0.0.1:0");
  listener->Start([&](int fd, std::string name) {
    close(fd);
    absl::MutexLock lock(&mutex);
    peer = std::move(name);
  });
  const int client = Connect(listener->address());
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  ASSERT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&own), &size), 0);
  const std::string expected = "ipv4:127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  EXPECT_TRUE(Eventually([&] {
    absl::MutexLock lock(&mutex);
    return peer == expected;
  }));
  listener->Stop();
  close(client);
}

TEST_F(ListenerTest, SaysWhyItDoesNotListen) {
  const auto first = Listen("127.0.0.1:0");
  EXPECT_THAT(Error(first->address()), AllOf(HasSubstr(first->address()), HasSubstr("Address already in use")));
  EXPECT_THAT(Error("203.0.113.9:1"), HasSubstr("Cannot assign"));
  EXPECT_THAT(Error("no-such-host.invalid:1"), HasSubstr("cannot listen"));
}

TEST_F(ListenerTest, SaysWhyItCannotHaveAPath) {
  EXPECT_THAT(Error("unix:" + folder_.Path("none/socket")), HasSubstr("No such file or directory"));
  folder_.Write("file", "");
  EXPECT_THAT(Error("unix:" + folder_.Path("file/socket")), HasSubstr("Not a directory"));
  LeaveSocket("dead");
  ASSERT_EQ(chmod(folder_.Path("").c_str(), 0555), 0);
  // Root may write everywhere.
  const bool is_root = geteuid() == 0;
  // Relative paths, because others may not pass the folders above.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path(""));
  ASSERT_EQ(is_root ? seteuid(65534) : 0, 0);
  const std::string fresh = Error("unix:socket"), stale = Error("unix:dead");
  ASSERT_EQ(is_root ? seteuid(0) : 0, 0);
  std::filesystem::current_path(before);
  ASSERT_EQ(chmod(folder_.Path("").c_str(), 0755), 0);
  EXPECT_THAT(fresh, AllOf(HasSubstr("socket"), HasSubstr("Permission denied")));
  EXPECT_THAT(stale, AllOf(HasSubstr("dead"), HasSubstr("cannot be removed: Permission denied")));
}

TEST_F(ListenerTest, APathIsTakenOverFromTheDeadAndNotFromTheLiving) {
  const std::string address = "unix:" + folder_.Path("socket");
  auto first = Listen(address);
  EXPECT_THAT(Error(address), HasSubstr("in use"));
  first.reset();
  EXPECT_NE(access(folder_.Path("socket").c_str(), F_OK), 0) << "removed at the end";
  LeaveSocket("socket");
  Listen(address);
  folder_.Write("socket", "mine");
  EXPECT_THAT(Error(address), HasSubstr("not a socket"));
}

TEST_F(ListenerTest, OneOfSeveralThatStartTogetherTakesThePathOfTheDead) {
  const std::string address = "unix:" + folder_.Path("socket");
  for (int i = 0; i < 100; ++i) {
    LeaveSocket("socket");
    std::array<std::unique_ptr<Listener>, 4> made;
    absl::Barrier* const start = new absl::Barrier(made.size());
    std::vector<std::thread> threads;
    for (auto& listener : made) {
      threads.emplace_back([&] {
        if (start->Block()) delete start;
        auto found = Listener::Create(*ListenAddress::Parse(address), 0, &logger_);
        if (found.ok()) listener = *std::move(found);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(std::count(made.begin(), made.end(), nullptr), 3);
    EXPECT_THAT(Error(address), HasSubstr("in use")) << "the socket in the folder is not the listener's";
  }
}

TEST_F(ListenerTest, ASuccessorTakesThePathWhileItsPredecessorStops) {
  const std::string path = folder_.Path("socket"), address = "unix:" + path;
  for (int i = 0; i < 300; ++i) {
    auto first = Listen(address);
    std::thread stops([&first] { first.reset(); });
    auto second = Listener::Create(*ListenAddress::Parse(address), 0, &logger_);
    while (!second.ok() && !HasFailure()) {
      EXPECT_THAT(second.status().message(), HasSubstr("in use"));
      second = Listener::Create(*ListenAddress::Parse(address), 0, &logger_);
    }
    stops.join();
    ASSERT_TRUE(second.ok());
    ASSERT_EQ(access(path.c_str(), F_OK), 0) << "the predecessor has removed its successor's socket";
  }
}

}  // namespace
}  // namespace corank::testing
