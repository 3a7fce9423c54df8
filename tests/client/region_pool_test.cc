// The regions that the client keeps for later calls, and its behaviour when the server has no room for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/connection.h"
#include "client/cpp/credentials.h"
#include "client/cpp/regions.h"
#include "tests/client/memory_fixture.h"

namespace corank::client {
namespace {

class RegionPoolTest : public MemoryTest {
 protected:
  RegionPoolTest() { shared_.place = Place::kSharedMemory; }
  /// Makes enough concurrent calls to leave this many regions behind.
  void FillPool(const Client& client, int regions) {
    std::atomic<int> inside{0};
    service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
      ++inside;
      while (inside < regions) absl::SleepFor(absl::Milliseconds(1));
      return StandInSort(context, request, response);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < regions; ++i) {
      threads.emplace_back([&] { EXPECT_TRUE(client.Sort(Keys(1000), {}, shared_).ok()); });
    }
    for (std::thread& thread : threads) thread.join();
    service_.on_sort = StandInSort;
    EXPECT_EQ(memory_.region_count(), static_cast<size_t>(regions));
  }
  /// For regions that are used without a client.
  std::unique_ptr<Connection> NewConnection() const {
    ClientOptions options;
    options.address = server_.address();
    return std::make_unique<Connection>(options, *Credentials::Create(options));
  }
  static std::unique_ptr<OwnRegion> Borrow(Regions& regions, int64_t bytes) {
    auto region = regions.Borrow(bytes, "/corank-", absl::Now() + absl::Minutes(5), {}, /*waits=*/true);
    EXPECT_TRUE(region.ok()) << region.status();
    return *std::move(region);
  }
  void AwaitRegions(size_t count) {
    for (int i = 0; i < 10'000 && memory_.region_count() != count; ++i) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(memory_.region_count(), count);
  }

  CallOptions shared_;
};

TEST_F(RegionPoolTest, TheLargestFewAreKept) {
  struct statvfs info = {};
  ASSERT_EQ(statvfs("/dev/shm", &info), 0);
  if (info.f_blocks * info.f_frsize < size_t{256} << 20) GTEST_SKIP() << "/dev/shm is too small";
  const std::unique_ptr<Connection> connection = NewConnection();
  Regions regions(connection.get(), absl::InfiniteDuration());
  const auto use_region_of = [&](int64_t mib) { regions.Return(Borrow(regions, mib << 20)); };
  const std::array<int64_t, 10> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12};
  for (const int64_t mib : sizes) use_region_of(mib);
  EXPECT_EQ(memory_.registered, 10) << "none of the earlier ones was large enough";
  AwaitRegions(8);
  for (size_t i = 2; i < sizes.size(); ++i) use_region_of(sizes[i]);
  EXPECT_EQ(memory_.registered, 10);
  use_region_of(1);  // reuses a larger region
  EXPECT_EQ(memory_.registered, 10);
}

TEST_F(RegionPoolTest, MuchLargerOnesAreLeftToThoseWhoNeedThem) {
  const Client client = Connect();
  ASSERT_TRUE(client.Sort(Keys(size_t{20} << 17), {}, shared_).ok());
  ASSERT_TRUE(client.Sort(Keys(10), {}, shared_).ok());
  EXPECT_EQ(memory_.registered, 2);
}

TEST_F(RegionPoolTest, ThoseThatNobodyTakesGoAfterAWhile) {
  const std::unique_ptr<Connection> connection = NewConnection();
  constexpr absl::Duration kMostIdle = absl::Milliseconds(300);
  Regions regions(connection.get(), kMostIdle);
  auto taken = Borrow(regions, 1000), returned = Borrow(regions, 1000);
  const absl::Time before = absl::Now();
  regions.Return(std::move(returned));
  AwaitRegions(1);
  EXPECT_GE(absl::Now() - before, kMostIdle);
  regions.Return(std::move(taken));
  AwaitRegions(0);
  EXPECT_EQ(memory_.registered, 2);
}

TEST_F(RegionPoolTest, AServerThatLostThemIsGivenNewOnes) {
  const Client client = Connect();
  FillPool(client, 3);
  memory_.DropRegions();
  const auto sorted = client.Sort(Keys(1000), {}, shared_);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys, Sorted(Keys(1000)));
  EXPECT_EQ(memory_.registered, 4);
}

TEST_F(RegionPoolTest, ThoseOfAnEndedLeaseAreNotUsed) {
  const Client client = Connect();
  FillPool(client, 2);
  memory_.EndLeases();
  AwaitRegions(0);
  while (memory_.open_leases > 0) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(50));  // until this side has noticed
  service_.unary_calls = 0;
  EXPECT_TRUE(client.Sort(Keys(1000), {}, shared_).ok());
  EXPECT_EQ(service_.unary_calls, 1) << "tried with one that is gone";
  EXPECT_EQ(memory_.registered, 3);
}

TEST_F(RegionPoolTest, WhatTheServerStillUsesIsUnregisteredWithALaterCall) {
  std::atomic<bool> fails{true};
  service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
    return fails ? grpc::Status(grpc::StatusCode::INTERNAL, "broken") : StandInSort(context, request, response);
  };
  memory_.refused_unregisters = 2;
  const Client client = Connect();
  EXPECT_TRUE(absl::IsInternal(client.Sort(Keys(10), {}, shared_).status()));
  EXPECT_EQ(memory_.region_count(), 1u);
  fails = false;
  ASSERT_TRUE(client.Sort(Keys(10), {}, shared_).ok());
  EXPECT_EQ(memory_.region_count(), 2u) << "still in use";
  ASSERT_TRUE(client.Sort(Keys(10), {}, shared_).ok());
  EXPECT_EQ(memory_.region_count(), 1u);
  EXPECT_EQ(memory_.registered, 2);
}

TEST_F(RegionPoolTest, ARefusedCallGivesItsRegionBack) {
  std::atomic<bool> is_full{true};
  service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
    return is_full ? RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(1))
                   : StandInSort(context, request, response);
  };
  ClientOptions options;
  options.retry.enabled = false;
  const Client client = Connect(options);
  EXPECT_TRUE(absl::IsResourceExhausted(client.Sort(Keys(10), {}, shared_).status()));
  is_full = false;
  ASSERT_TRUE(client.Sort(Keys(10), {}, shared_).ok());
  EXPECT_EQ(memory_.registered, 1);
}

TEST_F(RegionPoolTest, ARefusedTokenIsNotTheEndOfSharing) {
  std::atomic<grpc::StatusCode> code{grpc::StatusCode::UNAUTHENTICATED};
  memory_.on_register = [&code] { return grpc::Status(code, "no"); };
  const std::unique_ptr<Connection> connection = NewConnection();
  Regions regions(connection.get(), absl::InfiniteDuration());
  const auto borrow = [&] {
    return regions.Borrow(1 << 20, "/corank-", absl::Now() + absl::Minutes(5), {}, /*waits=*/false).status();
  };
  EXPECT_TRUE(absl::IsUnauthenticated(borrow()));
  EXPECT_TRUE(regions.may_share()) << "a token that was changed is read again by the next call";
  code = grpc::StatusCode::PERMISSION_DENIED;
  EXPECT_TRUE(absl::IsPermissionDenied(borrow()));
  EXPECT_FALSE(regions.may_share());
}

TEST_F(RegionPoolTest, AServerWithoutRoomForThemIsAskedOnceInItsTime) {
  std::atomic<int> asked{0};
  memory_.on_register = [&asked] {
    ++asked;
    return RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "its most regions", absl::Hours(1));
  };
  const Client client = Connect();
  const std::vector<uint32_t> keys = Keys(200'000);
  for (int i = 0; i < 3; ++i) {
    const auto sorted = client.Sort(keys);
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(sorted->stats.place, Place::kInline);
  }
  EXPECT_EQ(asked, 1);
  shared_.deadline = absl::Milliseconds(300);
  EXPECT_FALSE(client.Sort(keys, {}, shared_).ok());
  EXPECT_EQ(asked, 2) << "a call that wants one asks";
}

}  // namespace
}  // namespace corank::client
