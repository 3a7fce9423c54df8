// Listening sockets: their addresses, and the number of connections that they accept.
#include "server/security/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
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
  for (const char* bad : {"", "host", ":1", "host:", "host:65536", "host:-1", "host:x", "unix:"}) {
    EXPECT_THAT(ListenAddress::Parse(bad).status().message(), HasSubstr("is not")) << bad;
  }
  EXPECT_FALSE(ListenAddress::Parse("unix:" + std::string(108, 'x')).ok());
}

class ListenerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Listener> Listen(const std::string& address, int most = 100) {
    Listener::Options options;
    options.max_connections = most;
    auto made = Listener::Create(*ListenAddress::Parse(address), options, &logger_);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::string Error(const std::string& address) {
    return std::string(Listener::Create(*ListenAddress::Parse(address), {}, &logger_).status().message());
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
  const Logger logger_{LogLevel::kError};
  const TestFolder folder_;
};

TEST_F(ListenerTest, KnowsHowManyConnectionsAreOpen) {
  std::vector<int> taken;
  absl::Mutex mutex;
  const auto count = [&] {
    absl::MutexLock lock(&mutex);
    return taken.size();
  };
  const auto listener = Listen("127.0.0.1:0", 2);
  listener->Start([&](int, int fd) {
    absl::MutexLock lock(&mutex);
    taken.push_back(fd);
  });
  std::vector<int> clients = {Connect(listener->address()), Connect(listener->address())};
  ASSERT_TRUE(Eventually([&] { return count() == 2; }));
  clients.push_back(Connect(listener->address()));
  char byte = 0;
  EXPECT_LE(recv(clients[2], &byte, 1, 0), 0) << "the third is closed at once";
  EXPECT_EQ(listener->refused_connections(), 1);
  EXPECT_EQ(listener->open_connections(), 2);
  close(taken[0]);
  clients.push_back(Connect(listener->address()));
  EXPECT_TRUE(Eventually([&] { return count() == 3; })) << "there is room again";
  EXPECT_EQ(listener->open_connections(), 2);
  listener->Stop();
  for (const int fd : clients) close(fd);
  close(taken[1]);
  close(taken[2]);
  EXPECT_EQ(listener->open_connections(), 0);
}

TEST_F(ListenerTest, WaitsForWhatPeersHaveNotTaken) {
  std::atomic<int> taken{-1};
  const auto listener = Listen("127.0.0.1:0");
  listener->Start([&](int, int fd) { taken = fd; });
  const int client = Connect(listener->address());
  ASSERT_TRUE(Eventually([&] { return taken >= 0; }));
  listener->Stop();
  const std::string bytes(1 << 16, 'x');
  ssize_t written = 0;
  // Until the buffers of both sides are full.
  for (ssize_t more; (more = send(taken, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0;) written += more;
  ASSERT_EQ(errno, EAGAIN);
  const absl::Time began = absl::Now();
  listener->AwaitSent(absl::Milliseconds(50));
  EXPECT_GE(absl::Now() - began, absl::Milliseconds(50)) << "nobody reads it";
  std::thread reader([&] {
    std::string into(1 << 16, 0);
    for (ssize_t left = written, got = 0; left > 0; left -= got) {
      got = recv(client, into.data(), into.size(), 0);
      ASSERT_GT(got, 0) << left << " bytes are missing";
    }
  });
  listener->AwaitSent(absl::Minutes(1));
  int unsent = -1;
  EXPECT_EQ(ioctl(taken, SIOCOUTQ, &unsent), 0);
  EXPECT_EQ(unsent, 0);
  EXPECT_LT(absl::Now() - began, absl::Seconds(30)) << "it has not waited longer than that takes";
  reader.join();
  close(client);
  close(taken);
}

TEST_F(ListenerTest, TheOldestGivesWayWhereItIsToldSo) {
  Listener::Options options;
  options.max_connections = 2;
  options.oldest_gives_way = true;
  auto made = Listener::Create(*ListenAddress::Parse("127.0.0.1:0"), options, &logger_);
  ASSERT_TRUE(made.ok()) << made.status();
  Listener& listener = **made;
  absl::Mutex mutex;
  std::vector<int> taken;
  const auto count = [&] {
    absl::MutexLock lock(&mutex);
    return taken.size();
  };
  listener.Start([&](int, int fd) {
    absl::MutexLock lock(&mutex);
    taken.push_back(fd);
  });
  std::vector<int> clients;
  const auto connect = [&] {
    clients.push_back(Connect(listener.address()));
    const timeval patience = {20, 0};
    setsockopt(clients.back(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return Eventually([&] { return count() == clients.size(); });
  };
  const auto has_ended = [&](size_t i) {
    char byte = 0;
    return recv(clients[i], &byte, 1, 0) == 0;
  };
  const auto lives = [&](size_t i) {
    char byte = 0;
    return recv(clients[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(connect());
  EXPECT_TRUE(has_ended(0));
  EXPECT_TRUE(has_ended(1));
  EXPECT_TRUE(lives(2));
  EXPECT_TRUE(lives(3));
  EXPECT_EQ(listener.refused_connections(), 2);
  // Connections that were ended, but that their owner has not closed, do not accumulate.
  clients.push_back(Connect(listener.address()));
  EXPECT_TRUE(has_ended(4));
  EXPECT_TRUE(lives(2));
  // After the owner closes them, another socket may get their number. The listener leaves that socket alone.
  close(taken[0]);
  close(taken[1]);
  close(clients.back());
  clients.pop_back();
  const int others[2] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0)};
  ASSERT_TRUE(connect());
  EXPECT_TRUE(has_ended(2));
  EXPECT_TRUE(lives(3));
  EXPECT_EQ(listener.open_connections(), 3) << "two, and the one that ends";
  listener.Stop();
  for (const int fd : clients) close(fd);
  for (const int fd : others) close(fd);
  for (size_t i = 2; i < taken.size(); ++i) close(taken[i]);
  EXPECT_EQ(listener.open_connections(), 0);
}

TEST_F(ListenerTest, SaysWhyItDoesNotListen) {
  const auto first = Listen("127.0.0.1:0");
  EXPECT_THAT(Error(first->address()), AllOf(HasSubstr(first->address()), HasSubstr("Address already in use")));
  EXPECT_THAT(Error("203.0.113.9:1"), HasSubstr("Cannot assign"));
  EXPECT_THAT(Error("no-such-host.invalid:1"), HasSubstr("cannot listen"));
}

TEST_F(ListenerTest, APathIsTakenOverFromTheDeadAndNotFromTheLiving) {
  const std::string address = "unix:" + folder_.Path("socket");
  auto first = Listen(address);
  EXPECT_THAT(Error(address), HasSubstr("in use"));
  first.reset();
  EXPECT_NE(access(folder_.Path("socket").c_str(), F_OK), 0) << "removed at the end";
  {
    // The state that a killed process leaves.
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct {
      sa_family_t family = AF_UNIX;
      char path[108] = "";
    } name;
    folder_.Path("socket").copy(name.path, sizeof(name.path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    close(fd);
  }
  Listen(address);
  folder_.Write("socket", "mine");
  EXPECT_THAT(Error(address), HasSubstr("not a socket"));
}

}  // namespace
}  // namespace corank::testing
