// The server, the calls and the arrays of the tests of operators.
#ifndef CORANK_TESTS_SERVER_OPERATORS_FIXTURE_H_
#define CORANK_TESTS_SERVER_OPERATORS_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {

inline v1::Array ToArray(KeyType type, const Bytes& keys) {
  return MakeArray(static_cast<v1::ElementType>(type), keys.data(), keys.size());
}

inline v1::Array ToRecords(int record_bytes, const Bytes& bytes) {
  return Records(static_cast<uint32_t>(record_bytes), Text(bytes));
}

inline std::string Indices(const std::vector<int64_t>& indices) { return Text(IndexArray(indices, 4)); }

/// One server on the CPU engine for all tests; every answer says so.
class OperatorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { running_ = new RunningServer(TestOptions(), ReachEngine()); }
  static void TearDownTestSuite() {
    delete running_;
    running_ = nullptr;
  }

  template <typename Response, typename Request>
  Response Get(const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = Call(running_->stub(), &context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
    EXPECT_EQ(response.stats().engine(), v1::ENGINE_CPU);
    EXPECT_FALSE(response.stats().device().empty());
    EXPECT_GT(response.stats().queue_ns(), 0);
    EXPECT_EQ(response.stats().batch_size(), 1);
    return response;
  }

  static inline RunningServer* running_ = nullptr;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_OPERATORS_FIXTURE_H_
