#include "server/base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace corank {
namespace {

TEST(CoresOfQuota, RoundsUpWhatTheGroupMayUse) {
  EXPECT_EQ(CoresOfQuota("800000 100000\n"), 8);
  EXPECT_EQ(CoresOfQuota("250000 100000\n"), 3);
  EXPECT_EQ(CoresOfQuota("50000 100000\n"), 1);
}

TEST(CoresOfQuota, IsZeroWithoutALimit) {
  EXPECT_EQ(CoresOfQuota("max 100000\n"), 0);
  EXPECT_EQ(CoresOfQuota(""), 0);
  EXPECT_EQ(CoresOfQuota("words"), 0);
}

TEST(UsableCores, AreThoseThatTheProcessMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(UsableCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(UsableCores(), CPU_COUNT(&before));
}

}  // namespace
}  // namespace corank
