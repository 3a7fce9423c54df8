#include "server/rpc/large_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/errors.h"
#include "tests/server/doubles.h"

namespace corank {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;

constexpr int64_t kBytes = int64_t{1} << 20;

class LargeCallsTest : public ::testing::Test {
 protected:
  LargeCallsTest() {
    LargeCalls::Options options;
    options.most_turns = 2;
    options.most_waiting = 5;
    options.most_waiting_of_tenant = 4;
    options.most_waiting_of_connection = 3;
    options.most_time = milliseconds(20);
    options.most_time_per_mib = milliseconds(1);
    options.later = [this](std::chrono::nanoseconds, std::function<void()> task) { looks_.push_back(std::move(task)); };
    calls_ = std::make_unique<LargeCalls>(&clock_, std::move(options));
  }

  // The turn of a call of this name, which is added to began_ when it begins. `caller`: the tenant, of one letter, and
  // the number of its connection, if it has more than one.
  std::unique_ptr<LargeCalls::Turn> Ask(const std::string& caller, const std::string& name,
                                        Instant deadline = kForever) {
    bool begins = false;
    auto turn = calls_->Ask(
        {caller.substr(0, 1), connections_.data() + (caller.size() > 1 ? caller[1] - '0' : 0)}, kBytes, deadline,
        [this, name] { began_.push_back(name); }, &begins);
    status_ = turn.status();
    if (!turn.ok()) return nullptr;
    if (begins) began_.push_back(name);
    return *std::move(turn);
  }
  void Look() {
    for (auto& look : std::exchange(looks_, {})) look();
  }

  FakeClock clock_;
  std::vector<std::function<void()>> looks_;
  std::vector<std::string> began_;
  absl::Status status_;
  const std::array<char, 10> connections_ = {};
  std::unique_ptr<LargeCalls> calls_;
};

using Names = std::vector<std::string>;

TEST_F(LargeCallsTest, BeginsAsManyAsThereAreTurns) {
  auto a = Ask("x", "a"), b = Ask("x", "b"), c = Ask("x", "c");
  EXPECT_EQ(began_, (Names{"a", "b"}));
  EXPECT_EQ(calls_->waiting(), 1);
  a.reset();
  EXPECT_EQ(began_, (Names{"a", "b", "c"}));
  b.reset();
  c.reset();
  EXPECT_EQ(calls_->turns(), 0);
  EXPECT_EQ(calls_->waiting(), 0);
}

TEST_F(LargeCallsTest, TakesCallersInTurn) {
  auto a = Ask("x", "a"), b = Ask("x", "b");
  auto x1 = Ask("x", "x1"), x2 = Ask("x", "x2"), y1 = Ask("y", "y1");
  a.reset();
  b.reset();
  x1.reset();
  EXPECT_EQ(began_, (Names{"a", "b", "y1", "x1", "x2"}));
}

TEST_F(LargeCallsTest, TakesTheConnectionsOfATenantInTurn) {
  auto a = Ask("x1", "a"), b = Ask("x1", "b");
  auto x1 = Ask("x1", "x1"), more1 = Ask("x1", "more1"), x2 = Ask("x2", "x2"), x3 = Ask("x3", "x3");
  auto y1 = Ask("y1", "y1");
  for (auto* const turn : {&a, &b, &x1, &y1, &x2}) turn->reset();
  EXPECT_EQ(began_, (Names{"a", "b", "y1", "x1", "x2", "x3", "more1"}));
}

TEST_F(LargeCallsTest, ForgetsWhoLeavesTheLine) {
  auto a = Ask("x", "a"), b = Ask("x", "b"), c = Ask("x", "c"), d = Ask("x", "d");
  c.reset();
  EXPECT_EQ(calls_->waiting(), 1);
  a.reset();
  EXPECT_EQ(began_, (Names{"a", "b", "d"}));
}

TEST_F(LargeCallsTest, TakesTheTurnFromACallThatIsSlow) {
  auto a = Ask("x", "a"), b = Ask("x", "b"), c = Ask("x", "c");
  clock_.Advance(milliseconds(20));
  Look();
  EXPECT_EQ(began_, (Names{"a", "b"}));
  clock_.Advance(milliseconds(1));
  Look();
  EXPECT_EQ(began_, (Names{"a", "b", "c"}));
  a.reset();  // no longer has one
  EXPECT_EQ(calls_->turns(), 1);
  EXPECT_TRUE(looks_.empty()) << "nobody waits";
}

TEST_F(LargeCallsTest, RefusesMoreThanMayWait) {
  auto a = Ask("x1", "a"), b = Ask("x1", "b");
  auto c = Ask("x1", "c"), d = Ask("x1", "d"), e = Ask("x1", "e");
  EXPECT_EQ(Ask("x1", "f"), nullptr);
  EXPECT_EQ(status_.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status_), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_TRUE(HasRetryDelay(status_));
  auto g = Ask("x2", "g");
  EXPECT_NE(g, nullptr) << "another connection has room";
  EXPECT_EQ(Ask("x3", "h"), nullptr) << "the tenant has no more";
  auto i = Ask("y1", "i");
  EXPECT_NE(i, nullptr) << "another tenant has room";
  EXPECT_EQ(Ask("z1", "j"), nullptr) << "the line is full";
  c.reset();
  EXPECT_NE(Ask("x1", "k"), nullptr) << "somebody has left";
}

// Its turn comes after one of each other connection, and of each other tenant.
TEST_F(LargeCallsTest, CountsWhoIsBeforeAConnection) {
  const auto answer = [this](milliseconds time) {
    auto turn = Ask("x1", "");
    clock_.Advance(time);
    turn->Answered();
  };
  for (int i = 0; i < 100; ++i) answer(milliseconds(10));
  auto a = Ask("x1", "a"), b = Ask("x1", "b");
  auto c = Ask("x1", "c"), d = Ask("x1", "d"), e = Ask("x1", "e");
  // Two turns at a time of 10 ms, so one begins each 5 ms; and 20 ms until an answer.
  EXPECT_EQ(Ask("x2", "f", clock_.Now() + milliseconds(39)), nullptr) << "30 ms are more than three quarters of that";
  EXPECT_NE(Ask("x2", "g", clock_.Now() + milliseconds(40)), nullptr)
      << "one call of the other connection is before it";
  EXPECT_EQ(Ask("y1", "h", clock_.Now() + milliseconds(39)), nullptr);
  EXPECT_NE(Ask("y1", "i", clock_.Now() + milliseconds(40)), nullptr) << "one call of the other tenant is before it";
}

TEST_F(LargeCallsTest, RefusesWhatItsTurnWouldComeTooLateFor) {
  for (int i = 0; i < 100; ++i) {
    auto turn = Ask("x", "");
    clock_.Advance(milliseconds(10));
    turn->Answered();
  }
  auto a = Ask("x", "a", clock_.Now() + milliseconds(1));
  EXPECT_NE(a, nullptr) << "nobody is before it";
  auto b = Ask("x", "b");
  EXPECT_EQ(Ask("x", "c", clock_.Now() + milliseconds(33)), nullptr) << "25 ms are more than three quarters of that";
  EXPECT_EQ(status_.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ReasonOf(status_), v1::ERROR_REASON_DEADLINE_UNREACHABLE);
  EXPECT_NE(Ask("x", "d", clock_.Now() + milliseconds(34)), nullptr);
}

}  // namespace
}  // namespace corank
