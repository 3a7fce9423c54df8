// Regions: the caller's shared memory, and the regions that the client makes for its calls, against the puppet's
// MemoryService.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/client/memory_fixture.h"

namespace corank::client {
namespace {

using ::testing::HasSubstr;

using RegionTest = MemoryTest;

TEST_F(RegionTest, SharedMemoryIsNamedUntilItIsUnlinkedAndMapped) {
  auto memory = SharedMemory::Create(5000, "/corank-puppet-");
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_THAT(memory->key(), ::testing::StartsWith("/corank-puppet-"));
  EXPECT_EQ(memory->size(), 5000);
  EXPECT_EQ(memory->span<uint64_t>().size(), 625u);
  EXPECT_EQ(memory->span<uint32_t>(16, 3).data(), reinterpret_cast<uint32_t*>(memory->data() + 16));
  EXPECT_TRUE(std::all_of(memory->data(), memory->data() + 5000, [](char c) { return c == 0; }));
  const std::string key = memory->key();
  char* const data = memory->data();
  SharedMemory moved = *std::move(memory);
  EXPECT_EQ(moved.data(), data);
  int fd = shm_open(key.c_str(), O_RDWR, 0);
  EXPECT_GE(fd, 0);
  close(fd);
  moved.Unlink();
  EXPECT_LT(shm_open(key.c_str(), O_RDWR, 0), 0);
  moved.data()[4999] = 'x';  // still mapped
  EXPECT_TRUE(absl::IsInvalidArgument(SharedMemory::Create(0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SharedMemory::Create(1, "no-slash").status()));
  EXPECT_TRUE(absl::IsResourceExhausted(SharedMemory::Create(int64_t{1} << 55).status()));
}

TEST_F(RegionTest, ArraysInARegisteredRegionAreReadAndWrittenThere) {
  auto memory = SharedMemory::Create(1 << 20, "/corank-puppet-");
  ASSERT_TRUE(memory.ok()) << memory.status();
  const Client client = Connect();
  const auto name = client.Register(*memory);
  ASSERT_TRUE(name.ok()) << name.status();
  memory->Unlink();
  const std::vector<uint32_t> keys = Keys(1000);
  const absl::Span<uint32_t> in = memory->span<uint32_t>(4096, 1000), out = memory->span<uint32_t>(65536, 1000);
  std::copy(keys.begin(), keys.end(), in.begin());
  const auto stats = client.SortInto(in, out);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(std::vector<uint32_t>(out.begin(), out.end()), Sorted(keys));
  EXPECT_EQ(seen_.keys_destination().shared_memory().region(), *name);
  EXPECT_EQ(seen_.keys_destination().shared_memory().offset_bytes(), 65536);
  EXPECT_EQ(service_.info_calls, 0) << "no place to be chosen";

  const auto outside = client.Sort(in);  // the result returns in the message
  ASSERT_TRUE(outside.ok()) << outside.status();
  EXPECT_EQ(outside->keys, Sorted(keys));
  // Not aligned to its element size: the client sends the bytes.
  SortRequest odd;
  odd.keys = {KeyType::kUint32, absl::string_view(memory->data() + 4097, 400)};
  ASSERT_TRUE(client.Sort(odd).ok());
  EXPECT_EQ(seen_.keys().count(), 100);

  const auto regions = client.ListRegions();
  ASSERT_EQ(regions->size(), 1u);
  EXPECT_EQ(regions->front().name, *name);
  EXPECT_EQ(regions->front().kind, RegionKind::kSharedMemory);
  EXPECT_EQ(regions->front().size_bytes, 1 << 20);
  EXPECT_TRUE(client.Unregister(*name).ok());
  EXPECT_TRUE(absl::IsNotFound(client.Unregister(*name)));
  EXPECT_EQ(memory_.region_count(), 0u);
  ASSERT_TRUE(client.Sort(in).ok()) << "a region that is no more is memory like any other";
}

TEST_F(RegionTest, AListOfSeveralPagesComesBackWhole) {
  auto memory = SharedMemory::Create(4096, "/corank-puppet-");
  const Client client = Connect();
  std::set<std::string> names;
  for (int i = 0; i < 5; ++i) names.insert(*client.Register(*memory));
  for (const int page_size : {1, 2, 5}) {
    memory_.page_size = page_size;
    const auto regions = client.ListRegions();
    ASSERT_TRUE(regions.ok()) << regions.status();
    ASSERT_EQ(regions->size(), names.size()) << page_size;
    size_t i = 0;
    for (const std::string& name : names) EXPECT_EQ((*regions)[i++].name, name) << page_size;
  }
}

TEST_F(RegionTest, RegionsEndWithTheClient) {
  auto memory = SharedMemory::Create(4096, "/corank-puppet-");
  {
    const Client client = Connect();
    ASSERT_TRUE(client.Register(*memory).ok());
    CallOptions call;
    call.place = Place::kSharedMemory;
    ASSERT_TRUE(client.Sort(Keys(10), {}, call).ok());
    EXPECT_EQ(memory_.region_count(), 2u);
    EXPECT_EQ(memory_.open_leases, 1);
  }
  while (memory_.open_leases > 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(memory_.region_count(), 0u);
}

TEST_F(RegionTest, LargeArraysGoThroughARegionThatIsKept) {
  ClientOptions options;
  options.stream_bytes = 100'000;
  const Client client = Connect(options);
  TransferProgress progress;
  CallOptions call;
  call.progress = &progress;
  for (const size_t count : {50'000u, 30'000u, 50'000u}) {
    const std::vector<uint32_t> keys = Keys(count);
    std::vector<std::array<char, 7>> rows(count);
    for (size_t i = 0; i < count; ++i) std::memcpy(rows[i].data(), &i, 7);
    const auto sorted = client.SortWithValues(keys, rows, {}, call);
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(sorted->keys, Sorted(keys));
    EXPECT_EQ(ToBytes(sorted->values), Gathered(ToBytes(rows), 7, StableOrder(keys)));
    EXPECT_EQ(sorted->stats.place, Place::kSharedMemory);
    EXPECT_EQ(progress.bytes_received, progress.bytes_to_receive);
  }
  EXPECT_EQ(memory_.registered, 1);
  EXPECT_EQ(service_.execute_calls, 0);
  SortRequest limited;
  const std::vector<uint32_t> keys = Keys(40'000);
  limited.keys = ViewOf(keys);
  limited.limit = 7;
  limited.output = SortOutput::kKeysAndIndices;
  const auto first = client.Sort(limited);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->keys->count(), 7);
  EXPECT_EQ(first->indices->count(), 7);
}

TEST_F(RegionTest, CallsAtTheSameTimeHaveRegionsOfTheirOwn) {
  const Client client = Connect();
  CallOptions call;
  call.place = Place::kSharedMemory;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&client, &call, i] {
      for (uint32_t j = 0; j < 10; ++j) {
        std::vector<uint32_t> keys = Keys(1000 * i + j);
        const auto sorted = client.Sort(keys, {}, call);
        ASSERT_TRUE(sorted.ok()) << sorted.status();
        EXPECT_EQ(sorted->keys, Sorted(keys));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory_.registered, 4) << "those that come later find regions that are there";
}

TEST_F(RegionTest, WhereTheServerCannotMapTheMemoryAStreamTakesItsPlace) {
  memory_.on_register = [] { return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not yours"); };
  ClientOptions options;
  options.stream_bytes = 1000;
  const Client client = Connect(options);
  for (int i = 0; i < 2; ++i) {
    const auto sorted = client.Sort(Keys(50'000));
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(sorted->stats.place, Place::kStream);
    EXPECT_EQ(sorted->keys, Sorted(Keys(50'000)));
  }
  CallOptions call;
  call.place = Place::kSharedMemory;
  EXPECT_THAT(std::string(client.Sort(Keys(10), {}, call).status().message()), HasSubstr("not yours"));
}

TEST_F(RegionTest, ARegionThatTheServerHasLostIsMadeAnew) {
  ClientOptions options;
  options.stream_bytes = 1000;
  const Client client = Connect(options);
  ASSERT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kSharedMemory);
  memory_.DropRegions();
  EXPECT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kStream);
  EXPECT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kSharedMemory);
}

TEST_F(RegionTest, WhereOnlyARegionIsWantedALostOneIsReplacedInTheSameCall) {
  const Client client = Connect();
  CallOptions call;
  call.place = Place::kSharedMemory;
  ASSERT_TRUE(client.Sort(Keys(1000), {}, call).ok());
  memory_.DropRegions();
  const auto sorted = client.Sort(Keys(1000), {}, call);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys, Sorted(Keys(1000)));
  EXPECT_EQ(memory_.registered, 2);
}

// Otherwise an array at the same address would later be taken for a part of the region.
TEST_F(RegionTest, ARegionKeepsItsAddressesUntilItIsUnregistered) {
  constexpr size_t kBytes = 1 << 20;
  const Client client = Connect();
  std::string name, key;
  {
    const auto memory = SharedMemory::Create(kBytes, "/corank-puppet-");
    ASSERT_TRUE(memory.ok()) << memory.status();
    name = *client.Register(*memory);
    key = memory->key();
  }
  const auto is_mapped = [&key] {
    std::ifstream maps("/proc/self/maps");
    return absl::StrContains(std::string(std::istreambuf_iterator<char>(maps), {}), key);
  };
  EXPECT_TRUE(is_mapped());
  EXPECT_TRUE(client.Unregister(name).ok());
  EXPECT_FALSE(is_mapped());
}

TEST_F(RegionTest, AnOutputInARegionMustHoldTheResult) {
  const auto memory = SharedMemory::Create(1 << 20, "/corank-puppet-");
  const Client client = Connect();
  ASSERT_TRUE(client.Register(*memory).ok());
  const absl::Span<uint32_t> keys = memory->span<uint32_t>(4096, 100), behind = memory->span<uint32_t>(65536 + 396, 1);
  behind[0] = 7;
  const auto refused = client.SortInto(keys, memory->span<uint32_t>(65536, 99));
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("the output for keys holds 396 bytes"));
  EXPECT_EQ(behind[0], 7u);
  EXPECT_EQ(service_.unary_calls, 0);
}

TEST_F(RegionTest, BytesOfARegionWhoseLeaseHasEndedTravel) {
  const auto memory = SharedMemory::Create(1 << 20, "/corank-puppet-");
  const Client client = Connect();
  ASSERT_TRUE(client.Register(*memory).ok());
  const absl::Span<uint32_t> in = memory->span<uint32_t>(0, 100), out = memory->span<uint32_t>(4096, 100);
  const std::vector<uint32_t> keys = Keys(100);
  std::copy(keys.begin(), keys.end(), in.begin());
  memory_.EndLeases();
  while (memory_.region_count() > 0) absl::SleepFor(absl::Milliseconds(1));
  // Until the client notices, its calls name a region that no longer exists.
  for (int i = 0; i < 1000 && !client.SortInto(in, out).ok(); ++i) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_TRUE(client.SortInto(in, out).ok());
  EXPECT_EQ(std::vector<uint32_t>(out.begin(), out.end()), Sorted(keys));
  EXPECT_FALSE(seen_.keys_destination().has_shared_memory());
  const auto again = client.Register(*memory);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(client.SortInto(in, out).ok());
  EXPECT_EQ(seen_.keys_destination().shared_memory().region(), *again);
}

TEST_F(RegionTest, ACallThatWaitsForTheLeaseOfAnotherHasItsOwnDeadlineAndCancellation) {
  memory_.holds_leases = true;
  const auto memory = SharedMemory::Create(4096, "/corank-puppet-"), other = SharedMemory::Create(4096);
  const Client client = Connect();
  std::thread opener([&] { EXPECT_TRUE(client.Register(*memory).ok()); });
  while (memory_.asked_leases == 0) absl::SleepFor(absl::Milliseconds(1));
  CallOptions call;
  call.deadline = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Register(*other, call).status()));
  Cancellation cancellation;
  call.deadline = absl::InfiniteDuration();
  call.cancellation = &cancellation;
  std::thread canceller([&cancellation] {
    absl::SleepFor(absl::Milliseconds(100));
    cancellation.Cancel();
  });
  EXPECT_TRUE(absl::IsCancelled(client.Register(*other, call).status()));
  memory_.holds_leases = false;
  canceller.join();
  opener.join();
  EXPECT_EQ(memory_.asked_leases, 1);
}

TEST_F(RegionTest, AResultThatOnlyTheRequestClaimsTakesNoSharedMemory) {
  service_.on_gather = [](grpc::ServerContext*, const v1::GatherIntervalsRequest&, v1::GatherIntervalsResponse*) {
    return InvalidField("counts[0]", "beyond the end of the source");
  };
  ClientOptions options;
  options.stream_bytes = 1000;
  const Client client = Connect(options);
  const std::vector<int64_t> offsets = {0}, counts = {int64_t{64} << 20};
  const absl::Status status = client.GatherIntervals(Keys(1000), offsets, counts).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(memory_.registered, 0);
}

TEST_F(RegionTest, TheRegionOfACallThatFailedIsNotKept) {
  service_.on_sort = [](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) {
    return InvalidField("keys", "spoilt");
  };
  CallOptions call;
  call.place = Place::kSharedMemory;
  const Client client = Connect();
  EXPECT_TRUE(absl::IsInvalidArgument(client.Sort(Keys(10), {}, call).status()));
  EXPECT_EQ(memory_.registered, 1);
  for (int i = 0; i < 1000 && memory_.region_count() > 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(memory_.region_count(), 0u);
}

}  // namespace
}  // namespace corank::client
