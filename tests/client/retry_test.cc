// The retry policy, as arithmetic.
#include "client/cpp/retry.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cpp/status_conversion.h"
#include "tests/client/puppet_service.h"

namespace corank::client {
namespace {

constexpr char kRefusedConnection[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: "
    "Connection refused";

absl::Status Busy(absl::Duration delay, grpc::StatusCode code = grpc::StatusCode::RESOURCE_EXHAUSTED) {
  return ToAbslStatus(RetryLater(code, "full", delay));
}

TEST(FailureOf, TellsWhatIsKnownOfTheWork) {
  EXPECT_EQ(FailureOf(Busy(absl::Seconds(1))), Failure::kRefused);
  EXPECT_EQ(FailureOf(Busy(absl::Seconds(1), grpc::StatusCode::UNAVAILABLE)), Failure::kRefused);
  EXPECT_EQ(FailureOf(absl::UnavailableError("Socket closed")), Failure::kLost);
  EXPECT_EQ(FailureOf(absl::UnavailableError("no healthy upstream")), Failure::kLost);
  EXPECT_EQ(FailureOf(absl::UnavailableError(kRefusedConnection)), Failure::kNotSent);
  EXPECT_EQ(FailureOf(absl::UnavailableError("DNS resolution failed for x:1: not found")), Failure::kNotSent);
  EXPECT_EQ(FailureOf(absl::UnavailableError("errors resolving x:1: [not found]")), Failure::kNotSent);
  EXPECT_EQ(FailureOf(absl::ResourceExhaustedError("message too large")), Failure::kFinal);
  EXPECT_EQ(FailureOf(ToAbslStatus(PartLost("CALLER_CANCELLED"))), Failure::kRefused);
  EXPECT_EQ(FailureOf(ToAbslStatus(PartLost("REQUEST_INCOMPLETE"))), Failure::kRefused);
  EXPECT_EQ(FailureOf(ToAbslStatus(PartLost("FIELD_INVALID"))), Failure::kFinal) << "it would come again";
  EXPECT_EQ(FailureOf(absl::AbortedError("of a proxy")), Failure::kFinal);
  for (int code = 1; code <= 16; ++code) {
    if (code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::RESOURCE_EXHAUSTED) continue;
    EXPECT_EQ(FailureOf(Busy(absl::Seconds(1), static_cast<grpc::StatusCode>(code))), Failure::kFinal) << code;
  }
  for (const char* words :
       {"Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed",
        "Peer name 127.0.0.1 is not in peer certificate",
        "Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number"}) {
    EXPECT_EQ(FailureOf(absl::UnavailableError(absl::StrCat("failed to connect to all addresses; ", words))),
              Failure::kFinal);
  }
}

class AfterFailureTest : public ::testing::Test {
 protected:
  std::optional<absl::Duration> Delay(const absl::Status& error, int attempt, double random,
                                      absl::Duration remaining = absl::InfiniteDuration()) const {
    return AfterFailure(options_, error, Repeat::kAlways, attempt, remaining, random).delay;
  }

  const absl::Status lost_ = absl::UnavailableError("Socket closed");
  RetryOptions options_;
};

TEST_F(AfterFailureTest, WithoutAWordOfTheServerTheWaitIsDrawnFromZeroToATimeThatDoubles) {
  for (const auto& [attempt, most] : {std::pair(1, 50), {2, 100}, {3, 200}, {4, 400}, {5, 800}}) {
    EXPECT_EQ(Delay(lost_, attempt, 0), absl::ZeroDuration());
    EXPECT_EQ(Delay(lost_, attempt, 0.5), absl::Milliseconds(most) / 2);
    EXPECT_EQ(Delay(lost_, attempt, 1), absl::Milliseconds(most));
  }
  options_.max_delay = absl::Milliseconds(300);
  EXPECT_EQ(Delay(lost_, 5, 1), absl::Milliseconds(300));
}

TEST_F(AfterFailureTest, TheServersDelayIsTheLeastAndCallersSpreadBehindIt) {
  const absl::Status busy = Busy(absl::Seconds(2));
  EXPECT_EQ(Delay(busy, 1, 0), absl::Seconds(2));
  EXPECT_EQ(Delay(busy, 1, 1), absl::Seconds(4));
  EXPECT_EQ(Delay(busy, 2, 1), absl::Seconds(6));
  EXPECT_EQ(Delay(busy, 5, 1), absl::Seconds(2) + options_.max_delay);
  EXPECT_EQ(Delay(Busy(absl::Milliseconds(1)), 1, 1), absl::Milliseconds(51));
  EXPECT_EQ(Delay(Busy(absl::Minutes(1)), 1, 0), absl::Minutes(1));  // longer than max_delay
}

TEST_F(AfterFailureTest, TheNextTryBeginsBeforeTheDeadlineOrNotAtAll) {
  EXPECT_EQ(Delay(Busy(absl::Seconds(2)), 1, 0.5, absl::Seconds(3)), absl::Seconds(2.5));
  EXPECT_EQ(Delay(Busy(absl::Seconds(2)), 1, 0, absl::Seconds(2)), std::nullopt);
  EXPECT_EQ(Delay(lost_, 5, 0.5, absl::Milliseconds(10)), absl::Milliseconds(5));
  EXPECT_EQ(Delay(lost_, 1, 0.5, absl::ZeroDuration()), std::nullopt);
  EXPECT_EQ(AfterFailure(options_, lost_, Repeat::kAlways, 1, -absl::Seconds(1), 0).reason,
            "the next try would begin after the deadline");
}

TEST_F(AfterFailureTest, WhatMayBeTriedAgainFollowsFromTheCallAndWhatIsKnownOfTheWork) {
  const absl::Status not_sent = absl::UnavailableError(kRefusedConnection);
  const absl::Status refused = Busy(absl::Milliseconds(1));
  const absl::Status final_error = absl::InvalidArgumentError("keys: unsorted");
  const struct {
    Repeat repeat;
    bool after_not_sent, after_refused, after_lost;
  } cases[] = {{Repeat::kNever, true, false, false},
               {Repeat::kUnlessLost, true, true, false},
               {Repeat::kAlways, true, true, true}};
  for (const auto& c : cases) {
    const auto is_tried = [&](const absl::Status& error) {
      return AfterFailure(options_, error, c.repeat, 1, absl::Minutes(1), 0).delay.has_value();
    };
    EXPECT_EQ(is_tried(not_sent), c.after_not_sent);
    EXPECT_EQ(is_tried(refused), c.after_refused);
    EXPECT_EQ(is_tried(lost_), c.after_lost);
    EXPECT_FALSE(is_tried(final_error));
  }
}

TEST_F(AfterFailureTest, EndsAfterTheLastTryAndWhereItIsSwitchedOff) {
  EXPECT_TRUE(Delay(lost_, 5, 0).has_value());
  const NextTry last = AfterFailure(options_, lost_, Repeat::kAlways, 6, absl::Minutes(1), 0);
  EXPECT_EQ(last.delay, std::nullopt);
  EXPECT_EQ(last.reason, "no more than 6 tries are allowed");
  options_.enabled = false;
  EXPECT_EQ(Delay(lost_, 1, 0), std::nullopt);
}

TEST(RetryBudget, IsSpentByFailuresAndEarnedBySuccess) {
  RetryOptions options;
  options.budget_tokens = 4;
  options.budget_refill = 0.5;
  RetryBudget budget(options);
  EXPECT_TRUE(budget.Take());   // 3 left
  EXPECT_FALSE(budget.Take());  // 2: half
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(budget.Take());
  for (int i = 0; i < 6; ++i) budget.Refill();  // 3
  EXPECT_FALSE(budget.Take());
  budget.Refill();
  budget.Refill();
  EXPECT_FALSE(budget.Take());  // 3 - 1 = 2
  for (int i = 0; i < 100; ++i) budget.Refill();
  EXPECT_TRUE(budget.Take());
  options.budget_tokens = 0;
  RetryBudget unbounded(options);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(unbounded.Take());
}

}  // namespace
}  // namespace corank::client
