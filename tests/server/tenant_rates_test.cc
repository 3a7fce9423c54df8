#include "server/rpc/tenant_rates.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "tests/server/doubles.h"

namespace corank {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;

TEST(TenantRatesTest, TakesTheRequestsOfASecondAtOnceAndThenAsTheyComeDue) {
  FakeClock clock;
  TenantRates rates(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.Take("a", clock.Now()).ok()) << i;
  const absl::Status refused = rates.Take("a", clock.Now());
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), v1::ERROR_REASON_QUOTA_EXCEEDED);
  EXPECT_TRUE(HasRetryDelay(refused));
  clock.Advance(milliseconds(249));
  EXPECT_FALSE(rates.Take("a", clock.Now()).ok());
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(rates.Take("a", clock.Now()).ok()) << "refused requests do not count";
  EXPECT_FALSE(rates.Take("a", clock.Now()).ok());
}

TEST(TenantRatesTest, SavesUpNoMoreThanASecond) {
  FakeClock clock;
  TenantRates rates(4);
  EXPECT_TRUE(rates.Take("a", clock.Now()).ok());
  clock.Advance(std::chrono::hours(1));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.Take("a", clock.Now()).ok()) << i;
  EXPECT_FALSE(rates.Take("a", clock.Now()).ok());
}

TEST(TenantRatesTest, CountsEachTenantByItself) {
  FakeClock clock;
  TenantRates rates(1);
  EXPECT_TRUE(rates.Take("busy", clock.Now()).ok());
  // More than it remembers before it forgets idle ones.
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(rates.Take(absl::StrCat(i), clock.Now()).ok()) << i;
  EXPECT_FALSE(rates.Take("busy", clock.Now()).ok());
  clock.Advance(milliseconds(999));
  for (int i = 1000; i < 10'000; ++i) EXPECT_TRUE(rates.Take(absl::StrCat(i), clock.Now()).ok()) << i;
  EXPECT_FALSE(rates.Take("busy", clock.Now()).ok()) << "it is not idle";
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(rates.Take("busy", clock.Now()).ok());
}

}  // namespace
}  // namespace corank
