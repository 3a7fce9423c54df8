// gRPC's errors as statuses, and when a refused call is tried again.
#include "client/cpp/errors.h"

#include <gtest/gtest.h>

#include "client/cpp/retry.h"
#include "tests/client/puppet_service.h"

namespace corank::client {
namespace {

TEST(ToAbslStatus, OkIsOk) { EXPECT_TRUE(ToAbslStatus(grpc::Status::OK).ok()); }

TEST(ToAbslStatus, EveryCodeKeepsItsNumber) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status = ToAbslStatus(grpc::Status(static_cast<grpc::StatusCode>(code), "words"));
    EXPECT_EQ(static_cast<int>(status.code()), code);
    EXPECT_EQ(status.message(), "words");
  }
}

TEST(ToAbslStatus, NamesTheViolatedFieldOnce) {
  const absl::Status bare = ToAbslStatus(InvalidField("values[2].count", "must not be negative"));
  EXPECT_EQ(bare.message(), "values[2].count: must not be negative");
  EXPECT_EQ(ViolatedField(bare), "values[2].count");
  const absl::Status named = ToAbslStatus(InvalidField("counts", "counts[3] is -1"));
  EXPECT_EQ(named.message(), "counts[3] is -1");
  EXPECT_EQ(ViolatedField(named), "counts");
}

TEST(ToAbslStatus, SaysWhenToTryAgain) {
  const absl::Status status =
      ToAbslStatus(RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full", absl::Milliseconds(250)));
  EXPECT_EQ(status.message(), "the queue is full (try again in 250ms)");
  EXPECT_EQ(RetryDelay(status), absl::Milliseconds(250));
  EXPECT_EQ(RetryDelay(WithMessage(status, "other")), absl::Milliseconds(250));
}

TEST(ToAbslStatus, GarbageInTheDetailsIsIgnored) {
  const absl::Status status =
      ToAbslStatus(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "words", "\xFF\xFFnot a message"));
  EXPECT_EQ(status.message(), "words");
  EXPECT_EQ(ViolatedField(status), std::nullopt);
  EXPECT_EQ(RetryDelay(status), std::nullopt);
}

class NextRetryTest : public ::testing::Test {
 protected:
  const absl::Status full_ =
      ToAbslStatus(RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(100)));
  const absl::Duration plenty_ = absl::Minutes(1);
  RetryOptions options_;
};

TEST_F(NextRetryTest, WaitsAsTheServerAsksAndTwiceAsLongEachTime) {
  EXPECT_EQ(NextRetry(options_, full_, 1, plenty_, 0), absl::Milliseconds(100));
  EXPECT_EQ(NextRetry(options_, full_, 2, plenty_, 0), absl::Milliseconds(200));
  EXPECT_EQ(NextRetry(options_, full_, 3, plenty_, 0), absl::Milliseconds(400));
}

TEST_F(NextRetryTest, JitterOnlyLengthensByAQuarterAtMost) {
  EXPECT_EQ(NextRetry(options_, full_, 1, plenty_, 1), absl::Milliseconds(125));
}

TEST_F(NextRetryTest, TheLongestWaitBoundsTheDoublingButNotTheServer) {
  options_.max_delay = absl::Milliseconds(150);
  EXPECT_EQ(NextRetry(options_, full_, 5, plenty_, 0), absl::Milliseconds(150));
  options_.max_delay = absl::Milliseconds(10);
  EXPECT_EQ(NextRetry(options_, full_, 5, plenty_, 0), absl::Milliseconds(100));
}

TEST_F(NextRetryTest, StopsAfterTheLastAttemptAndBeforeTheDeadline) {
  EXPECT_NE(NextRetry(options_, full_, options_.max_attempts - 1, plenty_, 0), std::nullopt);
  EXPECT_EQ(NextRetry(options_, full_, options_.max_attempts, plenty_, 0), std::nullopt);
  EXPECT_EQ(NextRetry(options_, full_, 1, absl::Milliseconds(100), 0), std::nullopt);
  EXPECT_NE(NextRetry(options_, full_, 1, absl::Milliseconds(101), 0), std::nullopt);
}

TEST_F(NextRetryTest, OnlyRefusalsThatSayWhenAreTriedAgain) {
  EXPECT_EQ(NextRetry(options_, absl::UnavailableError("connection refused"), 1, plenty_, 0), std::nullopt);
  EXPECT_EQ(NextRetry(options_, absl::ResourceExhaustedError("message too large"), 1, plenty_, 0), std::nullopt);
  EXPECT_EQ(NextRetry(options_, ToAbslStatus(InvalidField("keys", "bad")), 1, plenty_, 0), std::nullopt);
  const absl::Status other = ToAbslStatus(RetryLater(grpc::StatusCode::INTERNAL, "no", absl::Milliseconds(1)));
  EXPECT_EQ(NextRetry(options_, other, 1, plenty_, 0), std::nullopt);
  const absl::Status drain = ToAbslStatus(RetryLater(grpc::StatusCode::UNAVAILABLE, "drains", absl::Seconds(1)));
  EXPECT_EQ(NextRetry(options_, drain, 1, plenty_, 0), absl::Seconds(1));
  options_.enabled = false;
  EXPECT_EQ(NextRetry(options_, full_, 1, plenty_, 0), std::nullopt);
}

}  // namespace
}  // namespace corank::client
