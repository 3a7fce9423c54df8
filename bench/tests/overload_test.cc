#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/overload/open_loop.h"
#include "bench/overload/overload_rows.h"
#include "bench/overload/server_counts.h"
#include "corank/wire/v1/rpc_status.pb.h"

namespace corank::bench {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kDeadline = absl::Milliseconds(20);
constexpr absl::Duration kEarly = absl::Milliseconds(9), kBefore = absl::Microseconds(19900),
                         kAfter = absl::Microseconds(20100);

grpc::Status StatusOf(grpc::StatusCode code) { return grpc::Status(code, ""); }

grpc::Status RefusedLate() {
  wire::v1::RpcStatus details;
  details.add_details()->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "", details.SerializeAsString());
}

TEST(ReadEnding, TellsWhatTheServerRefusedFromWhatCameTooLate) {
  const grpc::Status passed = StatusOf(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReadEnding(passed, true, kEarly, kDeadline), Ending::kRefused);
  EXPECT_EQ(ReadEnding(passed, false, kEarly, kDeadline), Ending::kLate);
  EXPECT_EQ(ReadEnding(passed, true, kBefore, kDeadline), Ending::kLate);
  EXPECT_EQ(ReadEnding(passed, true, kAfter, kDeadline), Ending::kLate);
  EXPECT_EQ(ReadEnding(RefusedLate(), true, kBefore, kDeadline), Ending::kRefused);
  EXPECT_EQ(ReadEnding(RefusedLate(), true, kAfter, kDeadline), Ending::kLate);
  EXPECT_EQ(ReadEnding(grpc::Status::OK, true, kBefore, kDeadline), Ending::kInTime);
  EXPECT_EQ(ReadEnding(grpc::Status::OK, true, kAfter, kDeadline), Ending::kLate);
  EXPECT_EQ(ReadEnding(StatusOf(grpc::StatusCode::RESOURCE_EXHAUSTED), true, kBefore, kDeadline), Ending::kRefused);
  EXPECT_EQ(ReadEnding(StatusOf(grpc::StatusCode::INTERNAL), true, kBefore, kDeadline), Ending::kFailed);
}

TEST(OpenLoopResult, AddsWhatSeveralSendersCount) {
  OpenLoopResult one, other;
  one.calls = {5, 0, 2, 0, 0};
  one.seconds = 2;
  one.latency_us = {10};
  other.calls = {1, 0, 0, 4, 0};
  other.seconds = 4;
  other.refused_without_retry_info = 3;
  other.latency_us = {20};
  one.Add(other);
  EXPECT_EQ(one.sent(), 12);
  EXPECT_EQ(one[Ending::kInTime], 6);
  EXPECT_EQ(one.refused_without_retry_info, 3);
  EXPECT_EQ(one.Goodput(), 1.5);
  EXPECT_EQ(one.latency_us.size(), 2);
}

TEST(WhyNoLoad, IsEmptyForALoadThatWasMadeAndArrived) {
  EXPECT_EQ(WhyNoLoad(100, absl::Seconds(10), 10.2, 990, 980), "");
  EXPECT_EQ(WhyNoLoad(100, absl::Seconds(10), 9.9, 1020, 1020), "");
}

TEST(WhyNoLoad, NamesAClientThatWasLate) {
  EXPECT_THAT(WhyNoLoad(100, absl::Seconds(10), 20, 1000, 1000), HasSubstr("it began 50 of 100 calls/s"));
}

TEST(WhyNoLoad, NamesCallsThatDidNotArrive) {
  EXPECT_THAT(WhyNoLoad(100, absl::Seconds(10), 10, 1000, 900), HasSubstr("90 of 100 calls/s came through"));
}

TEST(SumOf, AddsTheSamplesOfOneMetricThatHaveTheLabel) {
  const std::string metrics =
      "# TYPE corank_calls gauge\r\ncorank_calls 2\r\n"
      "corank_calls_more 100\n"
      "corank_requests_total{code=\"OK\",operator=\"sort\"} 40\n"
      "corank_requests_total{code=\"CANCELLED\",operator=\"sort\"} 1.5e+01\n"
      "corank_requests_total{code=\"OK\",operator=\"merge\"} 7\n";
  EXPECT_EQ(*SumOf(metrics, "corank_calls", ""), 2);
  EXPECT_EQ(*SumOf(metrics, "corank_requests_total", "operator=\"sort\""), 55);
  EXPECT_EQ(SumOf(metrics, "corank_requests_total", "operator=\"search\"").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace corank::bench
