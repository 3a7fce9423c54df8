// gRPC's errors as statuses.
#include <gtest/gtest.h>

#include "client/cpp/status_conversion.h"
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

TEST(ErrorReason, IsThatOfTheServerAlone) {
  EXPECT_EQ(ErrorReason(ToAbslStatus(InvalidField("keys", "no"))), "FIELD_INVALID");
  EXPECT_EQ(ErrorReason(ToAbslStatus(RetryLater(grpc::StatusCode::UNAVAILABLE, "no", absl::Seconds(1)))), "DRAINING");
  EXPECT_EQ(ErrorReason(absl::UnavailableError("Socket closed")), std::nullopt);
}

TEST(NamingArgument, LeavesOutThePathOfTheOnlyOperation) {
  const absl::Status status =
      NamingArgument(ToAbslStatus(InvalidField("plan.operations[0].keys[1]", "plan.operations[0].keys[1]: no")));
  EXPECT_EQ(status.message(), "keys[1]: no");
  EXPECT_EQ(ViolatedField(status), "keys[1]");
  EXPECT_EQ(ErrorReason(status), "FIELD_INVALID");
  const absl::Status other = ToAbslStatus(InvalidField("plan.operations[3].keys", "plan.operations[3].keys: no"));
  EXPECT_EQ(NamingArgument(other), other);
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

}  // namespace
}  // namespace corank::client
