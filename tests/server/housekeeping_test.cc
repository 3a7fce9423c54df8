// Memory that nobody uses any more goes, also where no request comes.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "server/memory/housekeeper.h"
#include "tests/server/doubles.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

constexpr int64_t kPage = 4096;

TEST(HostPoolTest, TrimFreesHalfOfWhatNobodyTook) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {});
  const auto take = [&pool](int buffers) {
    std::vector<std::shared_ptr<void>> taken;
    for (int i = 0; i < buffers; ++i) taken.push_back(*pool->Take(kPage));
  };
  take(7);
  pool->Trim();
  EXPECT_EQ(pool->kept_bytes(), 7 * kPage) << "they were all in use since the last time";
  for (const int64_t left : {3, 1, 0, 0}) {
    pool->Trim();
    EXPECT_EQ(pool->kept_bytes(), left * kPage);
  }
  EXPECT_EQ(pool->allocations(), 7);
  take(4);
  pool->Trim();
  take(3);
  pool->Trim();
  EXPECT_EQ(pool->kept_bytes(), 3 * kPage) << "one was not taken";
  for (int i = 0; i < 5; ++i) {
    take(3);
    pool->Trim();
  }
  EXPECT_EQ(pool->kept_bytes(), 3 * kPage) << "what comes and goes stays";
  EXPECT_EQ(pool->allocations(), 7 + 4);
}

TEST(HostPoolTest, TrimLeavesBuffersInUseAndOtherSizes) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {});
  auto used = pool->Take(kPage);
  { const auto a = pool->Take(2 * kPage), b = pool->Take(2 * kPage); }
  pool->Trim();
  pool->Trim();
  EXPECT_EQ(pool->kept_bytes(), 2 * kPage);
  EXPECT_EQ(pool->bytes_in_use(), kPage);
  used = absl::UnknownError("given back");
  EXPECT_EQ(pool->kept_bytes(), 3 * kPage);
  EXPECT_TRUE(pool->Take(kPage).ok());
  EXPECT_EQ(pool->allocations(), 3);
}

// Sanitizers have allocators of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * kPage;
}

TEST(HousekeeperTest, GivesBackFreedPagesBetweenBlocksThatStay) {
  constexpr int kBlocks = 1000;
  constexpr size_t kBlockBytes = 64 << 10;
  std::vector<std::string> freed, stay;
  for (int i = 0; i < kBlocks; ++i) {
    freed.emplace_back(kBlockBytes, 'x');
    stay.emplace_back(100, 'y');
  }
  const int64_t all = ResidentBytes();
  freed.clear();
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  FakeClock clock;
  const auto pool = HostPool::Create(&devices, {});
  RegionRegistry regions({}, &devices, &clock);
  ArrayStore arrays({}, &devices, &clock);
  const Housekeeper housekeeper(pool.get(), &regions, &arrays, absl::Milliseconds(1));
  const int64_t wanted = all - kBlocks * int64_t{kBlockBytes} / 2;
  for (int i = 0; i < 20'000 && ResidentBytes() > wanted; ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_LE(ResidentBytes(), wanted);
}
#endif

TEST(HousekeeperTest, GivesBackBuffersRegionsAndArraysWhoseTimeIsOver) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  FakeClock clock;
  const auto pool = HostPool::Create(&devices, {});
  RegionRegistry::Options region_options;
  region_options.shared_memory_prefixes = {SharedObject::kPrefix};
  RegionRegistry regions(region_options, &devices, &clock);
  ArrayStore::Options array_options;
  array_options.max_bytes = kPage;
  ArrayStore arrays(array_options, &devices, &clock);
  const SharedObject object(kPage);
  v1::RegisterSharedMemoryRequest request;
  request.set_name("idle");
  request.set_key(object.key());
  request.set_size_bytes(kPage);
  ASSERT_TRUE(regions.Register("a", request).ok());
  {
    auto room = arrays.Reserve("a", /*device=*/0, kPage, "values");
    ASSERT_TRUE(room.ok());
    auto array = arrays.Make(*room, kPage);
    ASSERT_TRUE(array.ok());
    ASSERT_TRUE(arrays.Keep("a", "idle", *std::move(array)).ok());
  }
  ASSERT_TRUE(pool->Take(kPage).ok());

  const Housekeeper housekeeper(pool.get(), &regions, &arrays, absl::Milliseconds(1));
  const auto eventually = [](const auto& condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(1));
    return condition();
  };
  EXPECT_TRUE(eventually([&] { return pool->kept_bytes() == 0; }));
  EXPECT_EQ(regions.region_count(), 1) << "its time is not over";
  EXPECT_EQ(arrays.used_bytes(), kPage);
  clock.Advance(std::chrono::hours(2));
  EXPECT_TRUE(eventually([&] { return regions.region_count() == 0; }));
  EXPECT_TRUE(eventually([&] { return arrays.used_bytes() == 0; }));
}

}  // namespace
}  // namespace corank::testing
