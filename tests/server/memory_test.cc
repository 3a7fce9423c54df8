// Memory that outlives requests: pinned buffers, budgets, regions, kept arrays, and the guard of shared mappings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/engine/budget.h"
#include "server/memory/fault_guard.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "tests/server/doubles.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

constexpr int64_t kPage = 4096;

TEST(HostPoolTest, KeepsBuffersForTheNextTakerOfTheirSize) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {});
  void* first = nullptr;
  {
    const auto buffer = pool->Take(5000);
    ASSERT_TRUE(buffer.ok());
    first = buffer->get();
    EXPECT_EQ(pool->bytes_in_use(), 5120);
  }
  EXPECT_EQ(pool->bytes_in_use(), 0);
  EXPECT_EQ(pool->Take(5120)->get(), first);
  EXPECT_NE(pool->Take(5121)->get(), first);
  EXPECT_EQ(pool->allocations(), 2);
}

TEST(HostPoolTest, IsBoundedAndGivesUpWhatNobodyUses) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {3 * kPage, 3 * kPage});
  { const auto a = pool->Take(kPage), b = pool->Take(kPage), c = pool->Take(kPage); }
  const auto large = pool->Take(2 * kPage);
  ASSERT_TRUE(large.ok()) << "kept buffers must make room";
  EXPECT_TRUE(pool->Take(kPage).ok());
  const auto other = pool->Take(kPage);
  const auto refused = pool->Take(1);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(refused.status()));
  EXPECT_TRUE(HasRetryDelay(pool->Take(int64_t{1} << 62).status()));
}

TEST(HostPoolTest, AReservationIsNobodyElsesAndLastsAsLongAsItsBuffers) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {4 * kPage, 4 * kPage});
  auto reserved = pool->Reserve(3 * kPage);
  ASSERT_TRUE(reserved.ok());
  EXPECT_EQ(pool->bytes_in_use(), 0) << "a promise takes no memory";
  const auto free = pool->Take(kPage);
  ASSERT_TRUE(free.ok());
  EXPECT_TRUE(HasRetryDelay(pool->Take(kPage).status()));
  EXPECT_TRUE(HasRetryDelay(pool->Reserve(1).status()));
  auto first = pool->Take(2 * kPage, *reserved);
  EXPECT_TRUE(first.ok() && pool->Take(kPage, *reserved).ok());
  EXPECT_TRUE(HasRetryDelay(pool->Take(2 * kPage, *reserved).status())) << "beyond it, only what is free";
  reserved->reset();
  EXPECT_EQ(pool->promised_bytes(), 4 * kPage) << "a buffer keeps it";
  *first = nullptr;
  EXPECT_EQ(pool->promised_bytes(), kPage);
}

TEST(HostPoolTest, ReservationsGrowIntoOneHalfOnly) {
  PuppetEngine engine;
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {8 * kPage, 0});
  const auto a = *pool->Reserve(kPage), b = *pool->Reserve(kPage);
  EXPECT_EQ(pool->Grow(*a, kPage), kPage);
  EXPECT_EQ(pool->Grow(*b, 7 * kPage), kPage);
  EXPECT_EQ(pool->Grow(*a, kPage), 0);
  const auto others = pool->Take(4 * kPage);
  EXPECT_TRUE(others.ok()) << "half is left";
  EXPECT_TRUE(pool->Take(2 * kPage, a).ok() && pool->Take(2 * kPage, b).ok());
}

TEST(HostPoolTest, AnEngineWithoutMemoryIsReportedAndCountsNothing) {
  PuppetEngine engine([](const std::string& phase, OperatorReport*) {
    return phase == "AllocateMemory" ? absl::ResourceExhaustedError("none") : absl::OkStatus();
  });
  const DeviceSet devices({&engine});
  const auto pool = HostPool::Create(&devices, {});
  EXPECT_TRUE(HasRetryDelay(pool->Take(1).status()));
  EXPECT_EQ(pool->bytes_in_use(), 0);
}

TEST(BudgetTest, GivesBackWhatItLent) {
  const auto budget = Budget::Create(10);
  {
    const Budget::Reservation first = budget->Reserve(7);
    EXPECT_TRUE(first);
    EXPECT_FALSE(budget->Reserve(4));
    Budget::Reservation moved = budget->Reserve(3);
    moved = Budget::Reservation();
    EXPECT_EQ(budget->used(), 7);
    EXPECT_TRUE(budget->Reserve(0));
  }
  EXPECT_EQ(budget->used(), 0);
  EXPECT_FALSE(budget->Reserve(std::numeric_limits<int64_t>::max()));
}

TEST(FaultGuardTest, AccessBehindTheEndOfTheFileFindsZerosAndIsNoticed) {
  SharedObject object(3 * kPage);
  std::fill_n(object.As<char>(), 3 * kPage, 'x');
  const FaultGuard guard(object.As<void>(), 3 * kPage);
  ASSERT_TRUE(guard.active());
  object.Resize(kPage);
  EXPECT_EQ(object.As<char>()[kPage - 1], 'x');
  EXPECT_FALSE(guard.broken());
  std::thread([&object] { EXPECT_EQ(*const_cast<volatile char*>(object.As<char>(kPage)), 0); }).join();
  EXPECT_TRUE(guard.broken());
  *const_cast<volatile char*>(object.As<char>(2 * kPage)) = 1;  // the write has no effect
}

class RegionTest : public ::testing::Test {
 protected:
  RegionTest() : registry_(TestOptions(), &devices_, &clock_) {}
  static RegionRegistry::Options TestOptions() {
    RegionRegistry::Options options;
    options.shared_memory_prefixes = {SharedObject::kPrefix};
    options.max_regions = 12;  // 3 for each owner
    return options;
  }
  v1::RegisterSharedMemoryRequest Request(const std::string& name, int64_t bytes = 2 * kPage) {
    v1::RegisterSharedMemoryRequest request;
    request.set_name(name);
    request.set_key(object_.key());
    request.set_size_bytes(bytes);
    return request;
  }
  absl::StatusCode Code(const v1::RegisterSharedMemoryRequest& request) {
    return registry_.Register("a", request).status().code();
  }
  auto Find(const std::string& owner, const std::string& name) {
    return registry_.Find(owner, name, v1::REGION_KIND_SHARED_MEMORY, "keys.shared_memory.region");
  }

  PuppetEngine engine_;
  const DeviceSet devices_{{&engine_}};
  FakeClock clock_;
  SharedObject object_{2 * kPage};
  RegionRegistry registry_;
};

TEST_F(RegionTest, ARegionIsTheCallersMemory) {
  const auto region = registry_.Register("a", Request("keys"));
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ(region->size_bytes(), 2 * kPage);
  object_.As<int>()[3] = 42;
  const auto found = Find("a", "keys");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(static_cast<const int*>((*found)->data())[3], 42);
  EXPECT_EQ(registry_.List("a").regions_size(), 1);
}

TEST_F(RegionTest, AnObjectUnderALeaseIsRefusedAndNotWaitedFor) {
  signal(SIGIO, SIG_IGN);  // tells the holder that somebody wants the object
  v1::RegisterSharedMemoryRequest request = Request("keys");
  request.set_key(absl::StrCat(SharedObject::kPrefix, getpid(), "-leased"));
  const int file = shm_open(request.key().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_EQ(ftruncate(file, request.size_bytes()), 0);
  ASSERT_EQ(fcntl(file, F_SETLEASE, F_WRLCK), 0) << strerror(errno);
  EXPECT_EQ(Code(request), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fcntl(file, F_SETLEASE, F_UNLCK), 0) << strerror(errno);
  EXPECT_EQ(Code(request), absl::StatusCode::kOk);
  close(file);
  shm_unlink(request.key().c_str());
}

TEST_F(RegionTest, NamesBelongToTheirOwner) {
  ASSERT_TRUE(registry_.Register("a", Request("keys")).ok());
  EXPECT_EQ(Find("b", "keys").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry_.Unregister("b", "keys").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(registry_.List("b").regions().empty());
  EXPECT_TRUE(registry_.Register("b", Request("keys")).ok());
  EXPECT_EQ(Code(Request("keys")), absl::StatusCode::kAlreadyExists);
}

TEST_F(RegionTest, WhatCannotBeMappedIsRefusedAndLeavesNothing) {
  EXPECT_EQ(Code(Request("bad name")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code(Request("", 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code(Request("r", 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code(Request("r", 2 * kPage + 1)), absl::StatusCode::kInvalidArgument);
  auto request = Request("r");
  request.set_offset_bytes(1);
  EXPECT_EQ(Code(request), absl::StatusCode::kInvalidArgument);
  request.set_offset_bytes(std::numeric_limits<int64_t>::max() / kPage * kPage);
  EXPECT_EQ(Code(request), absl::StatusCode::kInvalidArgument);
  request.set_offset_bytes(-kPage);
  EXPECT_EQ(Code(request), absl::StatusCode::kInvalidArgument);
  request = Request("r");
  request.set_key("/somebody-elses");
  EXPECT_EQ(Code(request), absl::StatusCode::kPermissionDenied);
  request.set_key(std::string(SharedObject::kPrefix) + "x/../y");
  EXPECT_EQ(Code(request), absl::StatusCode::kInvalidArgument);
  request.set_key(std::string(SharedObject::kPrefix) + "missing");
  EXPECT_EQ(Code(request), absl::StatusCode::kNotFound);
  request = Request("r");
  request.set_lease_id("unknown");
  EXPECT_EQ(Code(request), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry_.region_count(), 0);
}

TEST_F(RegionTest, ARegionInUseStays) {
  ASSERT_TRUE(registry_.Register("a", Request("keys")).ok());
  {
    const auto used = Find("a", "keys");
    EXPECT_EQ(registry_.Unregister("a", "keys").code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(registry_.Unregister("a", "keys").ok());
  EXPECT_EQ(Find("a", "keys").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RegionTest, ALeaseTakesItsRegionsWithIt) {
  const std::string lease = *registry_.OpenLease("a");
  auto request = Request("leased");
  request.set_lease_id(lease);
  ASSERT_TRUE(registry_.Register("a", request).ok());
  EXPECT_EQ(registry_.Register("b", request).status().code(), absl::StatusCode::kNotFound) << "another's lease";
  ASSERT_TRUE(registry_.Register("a", Request("free")).ok());
  const auto used = Find("a", "leased");
  registry_.CloseLease(lease);
  EXPECT_EQ(registry_.region_count(), 1);
  EXPECT_TRUE((*used)->intact()) << "a request keeps what it uses";
}

TEST_F(RegionTest, ALeaseWithoutRegionsForTooLongIsTold) {
  int told = 0, told_used = 0;
  ASSERT_TRUE(registry_.OpenLease("a", [&told] { ++told; }).ok());
  auto request = Request("leased");
  request.set_lease_id(*registry_.OpenLease("a", [&told_used] { ++told_used; }));
  ASSERT_TRUE(registry_.Register("a", request).ok());
  clock_.Advance(TestOptions().expiry);
  registry_.GiveBackExpired();
  EXPECT_EQ(told, 0);
  clock_.Advance(std::chrono::nanoseconds(1));
  for (int i = 0; i < 2; ++i) registry_.GiveBackExpired();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(told_used, 0) << "its region needs no use";
  EXPECT_EQ(registry_.lease_count(), 2) << "until their calls end";
  ASSERT_TRUE(registry_.Unregister("a", "leased").ok());
  clock_.Advance(TestOptions().expiry + std::chrono::nanoseconds(1));
  registry_.GiveBackExpired();
  EXPECT_EQ(told_used, 1);
}

TEST_F(RegionTest, UnusedRegionsExpireAndUsedOnesDoNot) {
  ASSERT_TRUE(registry_.Register("a", Request("old")).ok());
  ASSERT_TRUE(registry_.Register("a", Request("used")).ok());
  const auto used = Find("a", "used");
  clock_.Advance(std::chrono::minutes(11));
  ASSERT_EQ(registry_.List("a").regions_size(), 1);
  EXPECT_EQ(registry_.List("a").regions(0).name(), "used");
}

TEST_F(RegionTest, TheirNumberIsBounded) {
  for (const char* name : {"1", "2", "3"}) ASSERT_TRUE(registry_.Register("a", Request(name)).ok());
  const auto refused = registry_.Register("a", Request("4"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(refused.status()));
  for (const char* owner : {"b", "c", "d"}) {
    for (const char* name : {"1", "2", "3"}) ASSERT_TRUE(registry_.Register(owner, Request(name)).ok());
  }
  EXPECT_TRUE(HasRetryDelay(registry_.Register("e", Request("1")).status())) << "that of all";
}

TEST_F(RegionTest, TheNumberOfLeasesIsBounded) {
  const std::string first = *registry_.OpenLease("a");
  ASSERT_TRUE(registry_.OpenLease("a").ok() && registry_.OpenLease("a").ok());
  EXPECT_TRUE(HasRetryDelay(registry_.OpenLease("a").status()));
  for (const char* owner : {"b", "c", "d"}) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(registry_.OpenLease(owner).ok());
  }
  EXPECT_TRUE(HasRetryDelay(registry_.OpenLease("e").status())) << "that of all";
  registry_.CloseLease(first);
  EXPECT_TRUE(registry_.OpenLease("a").ok());
}

TEST_F(RegionTest, ARegistrationDoesNotLandInTheNameOfALaterOne) {
  std::function<void()> overtake;
  PuppetEngine engine([&overtake](const std::string& phase, OperatorReport*) {
    if (phase == "PinHost" && overtake != nullptr) std::exchange(overtake, nullptr)();
    return absl::OkStatus();
  });
  const DeviceSet devices({&engine});
  RegionRegistry registry(TestOptions(), &devices, &clock_);
  const std::string lease = *registry.OpenLease("a");
  auto slow = Request("keys", kPage);
  slow.set_lease_id(lease);
  overtake = [&] {
    registry.CloseLease(lease);
    EXPECT_TRUE(registry.Register("a", Request("keys", 2 * kPage)).ok());
  };
  EXPECT_EQ(registry.Register("a", slow).status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(registry.List("a").regions_size(), 1);
  EXPECT_EQ(registry.List("a").regions(0).size_bytes(), 2 * kPage);
}

TEST_F(RegionTest, ARegionThatIsNotWantedAnyMoreWhenItIsPinnedGoes) {
  bool wanted = true;
  PuppetEngine engine([&wanted](const std::string&, OperatorReport*) {
    wanted = false;
    return absl::OkStatus();
  });
  const DeviceSet devices({&engine});
  RegionRegistry registry(TestOptions(), &devices, &clock_);
  const auto is_wanted = [&wanted] { return wanted; };
  EXPECT_TRUE(absl::IsCancelled(registry.Register("a", Request("keys"), is_wanted).status()));
  EXPECT_EQ(registry.region_count(), 0);
  EXPECT_FALSE(FindObjectPlace(object_.As<char>()).has_value());
  EXPECT_TRUE(registry.Register("a", Request("keys")).ok()) << "its name is free";
}

TEST_F(RegionTest, AnObjectThatWasMadeSmallerIsNoticed) {
  ASSERT_TRUE(registry_.Register("a", Request("keys")).ok());
  object_.Resize(kPage);
  EXPECT_EQ(Find("a", "keys").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(registry_.Unregister("a", "keys").ok());
}

TEST_F(RegionTest, APinThatFailsLeavesNothing) {
  PuppetEngine engine([](const std::string& phase, OperatorReport*) {
    return phase == "PinHost" ? absl::ResourceExhaustedError("none") : absl::OkStatus();
  });
  const DeviceSet devices({&engine});
  RegionRegistry registry(TestOptions(), &devices, &clock_);
  EXPECT_TRUE(HasRetryDelay(registry.Register("a", Request("keys")).status()));
  EXPECT_EQ(registry.region_count(), 0);
}

TEST_F(RegionTest, WhatIsOffSaysSo) {
  RegionRegistry registry({}, &devices_, &clock_);
  EXPECT_EQ(registry.Register("a", Request("r")).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(registry.Register("a", v1::RegisterCudaIpcRequest()).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace corank::testing
