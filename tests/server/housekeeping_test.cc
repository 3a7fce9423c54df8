// Unused memory is freed, even if no request comes.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "kernels/cpu/engine/host_memory.h"
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

TEST(RunBuffersTest, ServeTheNextTakerOfJustTheirSize) {
  PuppetEngine engine;
  const auto buffers = RunBuffers::Create({/*max_bytes=*/1000, /*max_kept_bytes=*/800});
  void* first = nullptr;
  {
    const auto taken = buffers->Take(engine, 300);
    ASSERT_TRUE(taken.ok());
    first = taken->get();
    EXPECT_EQ(buffers->bytes_in_use(), 300);
    EXPECT_EQ(buffers->kept_bytes(), 0);
  }
  EXPECT_EQ(buffers->bytes_in_use(), 0);
  EXPECT_EQ(buffers->kept_bytes(), 300);
  { EXPECT_EQ(buffers->Take(engine, 300)->get(), first); }
  EXPECT_EQ(buffers->allocations(), 1);
  { EXPECT_TRUE(buffers->Take(engine, 299).ok()); }
  EXPECT_EQ(buffers->allocations(), 2);
  EXPECT_EQ(buffers->kept_bytes(), 599);
  { EXPECT_TRUE(buffers->Take(engine, 202).ok()); }
  EXPECT_EQ(buffers->kept_bytes(), 599) << "no more than max_kept_bytes";
}

TEST(RunBuffersTest, KeptOnesGoForThoseThatAreNeeded) {
  PuppetEngine engine;
  const auto buffers = RunBuffers::Create({/*max_bytes=*/1000, /*max_kept_bytes=*/1000});
  { const auto a = buffers->Take(engine, 400), b = buffers->Take(engine, 300), c = buffers->Take(engine, 200); }
  EXPECT_EQ(buffers->kept_bytes(), 900);
  const auto more = buffers->Take(engine, 450);
  EXPECT_TRUE(more.ok());
  EXPECT_EQ(buffers->kept_bytes(), 500) << "the largest one made room";
  const auto beyond = buffers->Take(engine, 2000);
  EXPECT_TRUE(beyond.ok()) << "budgets refuse, not this";
  EXPECT_EQ(buffers->kept_bytes(), 0);
}

TEST(RunBuffersTest, KeptOnesGoWhereTheEngineHasNoMore) {
  int failing = 0;
  PuppetEngine engine([&failing](const std::string&, OperatorReport*) {
    return failing-- > 0 ? absl::ResourceExhaustedError("no memory") : absl::OkStatus();
  });
  const auto buffers = RunBuffers::Create({});
  { EXPECT_TRUE(buffers->Take(engine, 300).ok()); }
  failing = 1;
  const auto more = buffers->Take(engine, 400);
  EXPECT_TRUE(more.ok());
  EXPECT_EQ(buffers->kept_bytes(), 0);
  failing = 1;
  EXPECT_TRUE(absl::IsResourceExhausted(buffers->Take(engine, 500).status())) << "nothing was kept";
  EXPECT_EQ(buffers->bytes_in_use(), 400);
}

TEST(RunBuffersTest, TrimFreesWhatNobodyTookSinceTheLastTime) {
  PuppetEngine engine;
  const auto buffers = RunBuffers::Create({});
  { const auto a = buffers->Take(engine, 400), b = buffers->Take(engine, 300); }
  buffers->Trim();
  EXPECT_EQ(buffers->kept_bytes(), 700);
  { EXPECT_TRUE(buffers->Take(engine, 300).ok()); }
  buffers->Trim();
  EXPECT_EQ(buffers->kept_bytes(), 300);
  const auto used = buffers->Take(engine, 300);
  buffers->Trim();
  buffers->Trim();
  EXPECT_EQ(buffers->bytes_in_use(), 300);
  EXPECT_EQ(buffers->kept_bytes(), 0);
}

// As in corankd, with tcmalloc. Sanitizers have their own allocators.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * kPage;
}

TEST(HostMemoryTest, LargeBlocksLoseTheirPagesWhenTheyAreFreed) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  cpu::HostMemory memory;
  const absl::StatusOr<void*> block = memory.Allocate(kBytes);
  ASSERT_TRUE(block.ok());
  const int64_t before = ResidentBytes();
  std::memset(*block, 'x', kBytes);
  EXPECT_GT(ResidentBytes(), before + kBytes / 2);
  memory.Free(*block);
  EXPECT_LT(ResidentBytes(), before + kBytes / 2);
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
  const auto buffers = RunBuffers::Create({});
  RegionRegistry regions({}, &devices, &clock);
  ArrayStore arrays({}, &devices, &clock);
  const Housekeeper housekeeper(
      pool.get(), buffers.get(), &regions, &arrays, [] {}, absl::Milliseconds(1));
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
  const auto buffers = RunBuffers::Create({});
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
  ASSERT_TRUE(buffers->Take(engine, kPage).ok());

  std::atomic<int> trims{0};
  const Housekeeper housekeeper(
      pool.get(), buffers.get(), &regions, &arrays, [&trims] { ++trims; }, absl::Milliseconds(1));
  const auto eventually = [](const auto& condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(1));
    return condition();
  };
  EXPECT_TRUE(eventually([&] { return pool->kept_bytes() == 0; }));
  EXPECT_TRUE(eventually([&] { return buffers->kept_bytes() == 0; }));
  EXPECT_TRUE(eventually([&] { return trims > 0; })) << "of lanes";
  EXPECT_EQ(regions.region_count(), 1) << "its time is not over";
  EXPECT_EQ(arrays.used_bytes(), kPage);
  clock.Advance(std::chrono::hours(2));
  EXPECT_TRUE(eventually([&] { return regions.region_count() == 0; }));
  EXPECT_TRUE(eventually([&] { return arrays.used_bytes() == 0; }));
}

}  // namespace
}  // namespace corank::testing
