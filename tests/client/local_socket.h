// A TCP port of this host that never answers.
#ifndef CORANK_TESTS_CLIENT_LOCAL_SOCKET_H_
#define CORANK_TESTS_CLIENT_LOCAL_SOCKET_H_

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace corank::testing {

/// Bound for the lifetime of the object. With `listens`, the system accepts connections and nobody answers; without it,
/// connections are refused.
class LocalSocket {
 public:
  explicit LocalSocket(bool listens) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_TRUE(!listens || listen(socket_, 4) == 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~LocalSocket() { close(socket_); }
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

  const std::string& address() const { return address_; }
  int descriptor() const { return socket_; }

 private:
  const int socket_;
  std::string address_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_CLIENT_LOCAL_SOCKET_H_
