// How much the queue distrusts its estimates, and for how long.
#include "server/schedule/caution.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/server/doubles.h"

namespace corank::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CautionTest : public ::testing::Test {
 protected:
  double Factor() const { return caution_.Factor(clock_.Now()); }
  void Late() { caution_.Late(clock_.Now()); }

  FakeClock clock_;
  Caution caution_;
};

TEST_F(CautionTest, BeginsWithSomeAndKeepsItUntilItLearns) {
  EXPECT_DOUBLE_EQ(Factor(), 1.5);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_DOUBLE_EQ(Factor(), 1.5) << "nothing was late, but nothing showed the estimates to be right either";
}

TEST_F(CautionTest, RisesWithWhatIsLate) {
  double before = Factor();
  for (int i = 0; i < 3; ++i) {
    Late();
    EXPECT_GT(Factor(), before);
    before = Factor();
    clock_.Advance(milliseconds(10));
  }
}

TEST_F(CautionTest, WhatIsLateTogetherCountsOnce) {
  Late();
  const double once = Factor();
  for (int i = 0; i < 100; ++i) Late();
  EXPECT_DOUBLE_EQ(Factor(), once);
  clock_.Advance(milliseconds(9));
  const double before = Factor();
  Late();
  EXPECT_DOUBLE_EQ(Factor(), before);
  clock_.Advance(milliseconds(1));
  Late();
  EXPECT_GT(Factor(), once);
}

TEST_F(CautionTest, NeverExceedsItsBound) {
  for (int i = 0; i < 1000; ++i) {
    Late();
    EXPECT_LE(Factor(), 4);
    clock_.Advance(milliseconds(10));
  }
  EXPECT_GT(Factor(), 3.9);
}

TEST_F(CautionTest, OneBadMomentIsForgotten) {
  for (int i = 0; i < 50; ++i) {
    Late();
    clock_.Advance(milliseconds(10));
  }
  double before = Factor();
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(seconds(5));
    EXPECT_LT(Factor(), before);
    EXPECT_GE(Factor(), 1) << "a wait is never taken to be shorter than estimated";
    before = Factor();
  }
  EXPECT_LT(Factor(), 1.05);
  Late();
  EXPECT_LT(Factor(), 1.3) << "it rises from where it has fallen to";
}

}  // namespace
}  // namespace corank::testing
