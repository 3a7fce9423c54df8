// One real server, and a client of it for each way to transfer arrays.
#ifndef CORANK_TESTS_CLIENT_SERVER_FIXTURE_H_
#define CORANK_TESTS_CLIENT_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <utility>

#include "corank/client.h"
#include "tests/client/process.h"

namespace corank::client {

/// A way to transfer arrays.
struct Way {
  const char* name;
  Place place;
  int connections;
};
constexpr Way kWays[] = {{"Inline", Place::kInline, 0},
                         {"Stream", Place::kStream, 1},
                         {"StreamInParts", Place::kStream, 3},
                         {"SharedMemory", Place::kSharedMemory, 0}};

/// One server with every place, shared by all tests.
class ServerOfAllPlaces : public ::testing::Environment {
 public:
  void SetUp() override {
    server_ = new corank::testing::Server({"--shared-memory=/corank-", "--kept-bytes=100000000"});
  }
  void TearDown() override { delete server_; }

  static Client Connect(const Way& way) {
    EXPECT_NE(server_->address(), "");
    ClientOptions options;
    options.address = server_->address();
    options.place = way.place;
    options.connections = way.connections;
    auto client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

 private:
  static inline corank::testing::Server* server_ = nullptr;
};

class ClientOnServer : public ::testing::TestWithParam<Way> {
 protected:
  const Client client_ = ServerOfAllPlaces::Connect(GetParam());
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_SERVER_FIXTURE_H_
