#include "server/rpc/early_refusal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "corank/wire/v1/rpc_status.pb.h"
#include "proto/error_details.h"

namespace corank {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

wire::CallHead Head(Instant arrival, std::chrono::nanoseconds timeout) {
  wire::CallHead head;
  head.arrival = arrival;
  head.deadline = arrival + timeout;
  return head;
}

// Remembers how it was finished.
class FinishedCall final : public wire::Call {
 public:
  explicit FinishedCall(wire::CallHead head) { head_ = std::move(head); }
  void Read() override {}
  void ReadWhenever() override {}
  void SendMetadata(wire::Metadata) override {}
  void Write(Bytes) override {}
  void Finish(CallStatus status, wire::Metadata, std::optional<Bytes>) override { finished = std::move(status); }
  void Post(wire::Loop::Task) override {}
  wire::Loop::Place AfterReads(size_t, wire::Loop::Task) override { return {}; }
  void Withdraw(wire::Loop::Place) override {}
  std::chrono::nanoseconds Wait() const override { return wait; }
  void AllowUnread(int32_t) override {}

  std::chrono::nanoseconds wait{0};
  std::optional<CallStatus> finished;
};

TEST(EarlyRefusalTest, RefusesOnceThreeQuartersOfTheTimeoutHavePassed) {
  const Instant arrival = std::chrono::steady_clock::now();
  const wire::CallHead head = Head(arrival, milliseconds(20));
  EXPECT_FALSE(HasWaitedTooLong(head, arrival));
  EXPECT_FALSE(HasWaitedTooLong(head, arrival + milliseconds(15)));
  EXPECT_TRUE(HasWaitedTooLong(head, arrival + milliseconds(15) + microseconds(1)));
  EXPECT_TRUE(HasWaitedTooLong(head, arrival + milliseconds(30)));
}

TEST(EarlyRefusalTest, NeverRefusesCallsWithoutADeadlineOrThatHaveHardlyWaited) {
  const Instant arrival = std::chrono::steady_clock::now();
  wire::CallHead head;
  head.arrival = arrival;
  EXPECT_FALSE(HasWaitedTooLong(head, arrival + std::chrono::hours(24)));
  EXPECT_FALSE(HasWaitedTooLong(Head(arrival, microseconds(100)), arrival + microseconds(999)))
      << "its deadline has passed, of which the call itself tells";
}

TEST(EarlyRefusalTest, RefusesWhatWouldWaitForMoreThanAQuarterOfItsTimeout) {
  const Instant arrival = std::chrono::steady_clock::now();
  const wire::CallHead head = Head(arrival, milliseconds(20));
  EXPECT_FALSE(WouldWaitTooLong(head, milliseconds(5)));
  EXPECT_TRUE(WouldWaitTooLong(head, milliseconds(5) + microseconds(1)));
  EXPECT_FALSE(WouldWaitTooLong(Head(arrival, milliseconds(1)), milliseconds(1))) << "hardly a wait";
  wire::CallHead patient;
  patient.arrival = arrival;
  EXPECT_FALSE(WouldWaitTooLong(patient, std::chrono::hours(1)));

  Metrics metrics;
  FinishedCall call(Head(arrival, std::chrono::minutes(1)));
  EXPECT_EQ(RefuseIfLate(call, Operator::kSort, &metrics), nullptr);
  call.wait = std::chrono::seconds(16);
  EXPECT_NE(RefuseIfLate(call, Operator::kSort, &metrics), nullptr);
  ASSERT_TRUE(call.finished.has_value());
  EXPECT_EQ(call.finished->code, wire::kDeadlineExceeded);
}

TEST(EarlyRefusalTest, ARefusalSaysWhenToTryAgainAndIsCounted) {
  Metrics metrics;
  FinishedCall late(Head(std::chrono::steady_clock::now() - milliseconds(90), milliseconds(100)));
  EXPECT_NE(RefuseIfLate(late, Operator::kSort, &metrics), nullptr);
  ASSERT_TRUE(late.finished);
  EXPECT_EQ(late.finished->code, wire::kDeadlineExceeded);
  wire::v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(late.finished->details));
  bool has_retry_info = false;
  for (const auto& detail : details.details()) has_retry_info |= detail.type_url() == kRetryInfoUrl;
  EXPECT_TRUE(has_retry_info);
  bool is_counted = false;
  for (const auto& family : metrics.registry()->Collect()) {
    if (family.name != "corank_refused_total") continue;
    for (const auto& metric : family.metric) {
      is_counted |= metric.label.front().value == "late" && metric.counter.value == 1;
    }
  }
  EXPECT_TRUE(is_counted);

  FinishedCall early(Head(std::chrono::steady_clock::now(), std::chrono::hours(1)));
  EXPECT_EQ(RefuseIfLate(early, Operator::kSort, &metrics), nullptr);
  EXPECT_FALSE(early.finished);
}

}  // namespace
}  // namespace corank
