// Shared memory, kept arrays and chains against a double of MemoryService.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "tests/client/puppet_memory.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    service_.info = InfoOfAllPlaces();
    service_.on_sort = [this](grpc::ServerContext* context, const v1::SortRequest& request,
                              v1::SortResponse* response) {
      {
        absl::MutexLock lock(&mutex_);  // calls at the same time end here
        seen_ = request;
      }
      return StandInSort(context, request, response);
    };
  }
  Client Connect(ClientOptions options = {}) {
    options.address = server_.address();
    absl::StatusOr<Client> client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static std::vector<uint32_t> Keys(size_t count) {
    std::mt19937 random(1);
    std::vector<uint32_t> keys(count);
    for (uint32_t& key : keys) key = random();
    return keys;
  }
  static std::vector<uint32_t> Sorted(std::vector<uint32_t> keys) {
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  PuppetMemory memory_;
  PuppetService service_;
  PuppetServer server_{&service_, &memory_};
  absl::Mutex mutex_;
  v1::SortRequest seen_;  // read while no call runs
};

TEST_F(MemoryTest, SharedMemoryIsNamedUntilItIsUnlinkedAndMapped) {
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

TEST_F(MemoryTest, ArraysInARegisteredRegionAreReadAndWrittenThere) {
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

  const auto outside = client.Sort(in);  // the result comes back in the message
  ASSERT_TRUE(outside.ok()) << outside.status();
  EXPECT_EQ(outside->keys, Sorted(keys));
  // Not at a multiple of its element: the client sends the bytes.
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

TEST_F(MemoryTest, RegionsEndWithTheClient) {
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

TEST_F(MemoryTest, LargeArraysGoThroughARegionThatIsKept) {
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

TEST_F(MemoryTest, CallsAtTheSameTimeHaveRegionsOfTheirOwn) {
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
  EXPECT_LE(memory_.region_count(), 1u) << "one is kept";
}

TEST_F(MemoryTest, WhereTheServerCannotMapTheMemoryAStreamTakesItsPlace) {
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

TEST_F(MemoryTest, ARegionThatTheServerHasLostIsMadeAnew) {
  ClientOptions options;
  options.stream_bytes = 1000;
  const Client client = Connect(options);
  ASSERT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kSharedMemory);
  memory_.DropRegions();
  EXPECT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kStream);
  EXPECT_EQ(client.Sort(Keys(50'000))->stats.place, Place::kSharedMemory);
}

TEST_F(MemoryTest, WhereOnlyARegionIsWantedALostOneIsReplacedInTheSameCall) {
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

TEST_F(MemoryTest, OutputsOfTheCallersOwnMustHoldTheResult) {
  const Client client = Connect();
  const std::vector<uint32_t> keys = Keys(100);
  for (const Place place : {Place::kInline, Place::kStream, Place::kSharedMemory}) {
    CallOptions call;
    call.place = place;
    std::vector<uint32_t> enough(101, 7), small(99);
    ASSERT_TRUE(client.SortInto(keys, absl::MakeSpan(enough).subspan(0, 100), {}, call).ok());
    EXPECT_EQ(enough.back(), 7u);
    enough.pop_back();
    EXPECT_EQ(enough, Sorted(keys));
    const auto refused = client.SortInto(keys, absl::MakeSpan(small), {}, call);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("holds 396 bytes"));
  }
}

TEST_F(MemoryTest, ArraysAreStoredListedFetchedUsedAndDeleted) {
  const Client client = Connect();
  const std::vector<uint32_t> keys = Keys(100'000);
  const auto stored = client.Store("mine", ViewOf(keys), absl::Minutes(2));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->count, 100'000);
  EXPECT_EQ(stored->expires_in, absl::Minutes(2));
  ASSERT_TRUE(client.Store("empty", {KeyType::kInt8, ""}).ok());
  const auto list = client.ListArrays();
  ASSERT_EQ(list->arrays.size(), 2u);
  EXPECT_EQ(list->arrays[0].name, "empty");
  EXPECT_EQ(list->arrays[1].type, ElementType(KeyType::kUint32));
  EXPECT_EQ(list->used_bytes, 400'000);
  EXPECT_EQ(list->quota_bytes, 1 << 20);

  const auto fetched = client.Fetch("mine");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(*ToVector<uint32_t>(*fetched), keys);
  EXPECT_EQ(client.Fetch("empty")->count(), 0);
  for (const int64_t shift : {-1, 1}) {
    memory_.fetch_shift = shift;
    EXPECT_TRUE(absl::IsInternal(client.Fetch("mine").status())) << shift;
  }
  memory_.fetch_shift = 0;

  SortRequest sort;
  sort.keys = stored->view();
  sort.keys_output = Stored("sorted");
  const auto sorted = client.Sort(sort);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys->count(), 100'000);
  EXPECT_THAT(sorted->keys->bytes, IsEmpty());
  EXPECT_EQ(*ToVector<uint32_t>(*client.Fetch("sorted")), Sorted(keys));

  EXPECT_TRUE(client.DeleteArray("mine").ok());
  EXPECT_TRUE(absl::IsNotFound(client.DeleteArray("mine")));
  EXPECT_TRUE(absl::IsNotFound(client.Fetch("mine").status()));
  EXPECT_TRUE(absl::IsNotFound(client.Sort(sort).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client.Store("torn", {KeyType::kUint32, "12345"}).status()));
}

TEST_F(MemoryTest, AChainKeepsItsIntermediatesOnTheServer) {
  service_.on_merge = [](grpc::ServerContext*, const v1::MergeRequest& request, v1::MergeResponse* response) {
    std::vector<uint32_t> all;
    for (const v1::Array& keys : request.keys()) {
      for (const uint32_t key : FromBytes<uint32_t>(keys.inline_data())) all.push_back(key);
    }
    *response->mutable_keys() = request.keys(0);
    response->mutable_keys()->set_count(static_cast<int64_t>(all.size()));
    response->mutable_keys()->set_inline_data(ToBytes(Sorted(all)));
    return grpc::Status::OK;
  };
  service_.on_gather = [](grpc::ServerContext*, const v1::GatherIntervalsRequest& request,
                          v1::GatherIntervalsResponse* response) {
    *response->mutable_result() = request.source();
    response->mutable_result()->set_count(2);
    response->mutable_result()->set_inline_data(request.source().inline_data().substr(4, 8));
    return grpc::Status::OK;
  };
  const Client client = Connect();
  const std::vector<uint32_t> kept = {10, 20, 30}, fresh = {25, 5, 15};
  const auto stored = client.Store("kept", ViewOf(kept));
  ASSERT_TRUE(stored.ok()) << stored.status();
  const std::vector<int64_t> offsets = {1}, counts = {2};
  SortRequest sort;
  sort.keys = ViewOf(fresh);
  sort.keys_output = Temporary("sorted");
  MergeRequest merge;
  merge.keys = {TemporaryView("sorted", KeyType::kUint32, 3), stored->view()};
  merge.keys_output = Temporary("merged");
  GatherRequest gather;
  gather.source = TemporaryView("merged", KeyType::kUint32, 6);
  gather.source_offsets = offsets;
  gather.counts = counts;
  const auto results = client.Run({sort, merge, gather});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ((*results)[0].arrays[0].placed, 3);
  EXPECT_EQ((*results)[1].arrays[0].count(), 6);
  EXPECT_THAT(*ToVector<uint32_t>((*results)[2].arrays[0]), ElementsAre(10, 15));
  EXPECT_EQ((*results)[0].stats.engine, "cpu");
  const std::vector<v1::Plan> plans = service_.execute.plans();
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_TRUE(plans[0].operations(1).merge().keys(0).stored().temporary());
  EXPECT_FALSE(plans[0].operations(1).merge().keys(1).stored().temporary());
  EXPECT_TRUE(absl::IsInvalidArgument(client.Run({}).status()));
}

}  // namespace
}  // namespace corank::client
