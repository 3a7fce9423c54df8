// Kept arrays and chains against the puppet's MemoryService.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/memory_fixture.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(MemoryTest, ALimitOfMessagesLeavesChunksAsTheyAre) {
  ClientOptions options;
  options.max_message_bytes = 300;
  const Client client = Connect(options);
  const std::vector<uint32_t> keys = Keys(10'000);
  CallOptions call;
  call.place = Place::kStream;
  const auto sorted = client.Sort(keys, {}, call);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys, Sorted(keys));
  ASSERT_TRUE(client.Store("mine", ViewOf(keys)).ok());
  const auto fetched = client.Fetch("mine");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(*ToVector<uint32_t>(*fetched), keys);
  call.place = Place::kInline;
  SortRequest small;  // a small request with a large result
  small.keys = StoredArray{"mine", KeyType::kUint32, 10'000, {}}.view();
  const absl::Status large = client.Sort(small, call).status();
  EXPECT_TRUE(absl::IsResourceExhausted(large)) << large;
}

TEST_F(MemoryTest, ListsOfSeveralPagesComeBackWhole) {
  const Client client = Connect();
  const std::vector<std::string> names = {"a", "b", "b.2", "c", "d", "e"};
  for (const std::string& name : names) ASSERT_TRUE(client.Store(name, {KeyType::kInt8, "x"}).ok());
  for (const int page_size : {1, 2, 3, 4, 6}) {
    memory_.page_size = page_size;
    const auto list = client.ListArrays();
    ASSERT_TRUE(list.ok()) << list.status();
    std::vector<std::string> found;
    for (const StoredArray& array : list->arrays) found.push_back(array.name);
    EXPECT_EQ(found, names) << page_size;
    EXPECT_EQ(list->used_bytes, 6) << page_size;
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
