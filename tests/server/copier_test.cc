// Copies outside of lanes, including on a device that hangs.
#include "server/memory/copier.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/doubles.h"

namespace corank::testing {
namespace {

using Ints = std::shared_ptr<std::vector<int>>;

constexpr int64_t kBytes = 400;

Ints Make(int first) {
  auto ints = std::make_shared<std::vector<int>>(kBytes / sizeof(int));
  std::iota(ints->begin(), ints->end(), first);
  return ints;
}

std::shared_ptr<void> Bytes(const Ints& ints) { return {ints, ints->data()}; }

TEST(CopierTest, CopiesBothWays) {
  PuppetEngine engine;
  const auto copier = Copier::Create(&engine);
  ASSERT_TRUE(copier.ok());
  const Ints from = Make(1), device = Make(1000), to = Make(2000);
  EXPECT_TRUE((*copier)->ToDevice(Bytes(device), Bytes(from), kBytes).ok());
  EXPECT_TRUE((*copier)->ToHost(Bytes(to), Bytes(device), kBytes).ok());
  EXPECT_EQ(*to, *from);
  EXPECT_EQ(device.use_count(), 1) << "what was copied belongs to the caller alone again";
}

TEST(CopierTest, ErrorsOfTheEngineComeThrough) {
  PuppetEngine engine([](const std::string& phase, OperatorReport*) {
    return phase == "Finish" ? absl::InternalError("broken") : absl::OkStatus();
  });
  const auto copier = Copier::Create(&engine);
  ASSERT_TRUE(copier.ok());
  EXPECT_EQ((*copier)->ToDevice(Bytes(Make(0)), Bytes(Make(1)), kBytes).message(), "broken");
}

TEST(CopierTest, NobodyWaitsLongForADeviceThatHangs) {
  absl::Notification goes_on;
  PuppetEngine engine([&goes_on](const std::string& phase, OperatorReport*) {
    if (phase == "Begin") goes_on.WaitForNotification();
    return absl::OkStatus();
  });
  constexpr absl::Duration kPatience = absl::Seconds(1);
  const auto copier = Copier::Create(&engine, kPatience);
  ASSERT_TRUE(copier.ok());
  const Ints from = Make(1), to = Make(1000), unused = Make(2000);
  std::thread behind([&] { EXPECT_TRUE(HasRetryDelay((*copier)->ToDevice(Bytes(unused), Bytes(from), kBytes))); });
  const absl::Status late = (*copier)->ToDevice(Bytes(to), Bytes(from), kBytes);
  EXPECT_EQ(late.code(), absl::StatusCode::kUnavailable) << late;
  EXPECT_TRUE(HasRetryDelay(late));
  behind.join();
  // Later ones do not wait. If each did, the test would not end in its time.
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE((*copier)->ToHost(Bytes(unused), Bytes(from), kBytes).ok());
  EXPECT_EQ(to.use_count() + unused.use_count(), 3) << "one of the two is still the copy's, which may go on";
  EXPECT_EQ((*to)[0], 1000);
  goes_on.Notify();
  while (!(*copier)->ToHost(Bytes(unused), Bytes(from), kBytes).ok()) std::this_thread::yield();
  EXPECT_EQ(*unused, *from) << "the device answers again";
  EXPECT_EQ(to.use_count(), 1);
}

}  // namespace
}  // namespace corank::testing
