// Chains of operators over sharded arrays. The devices are CPU engines that tests hold and lose, so that nothing
// depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include "tests/server/sharded_kept_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

Ints Merged(const Ints& a, const Ints& b) {
  Ints merged;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  return merged;
}

// A result of an earlier operation, and the place of one.
v1::Array Temporary(const std::string& name, v1::ElementType type = v1::ELEMENT_TYPE_INT32) {
  v1::Array array = Kept(name, type);
  array.mutable_stored()->set_temporary(true);
  return array;
}
v1::Destination ToTemporary(const std::string& name, bool sharded = false) {
  v1::Destination destination = KeptAs(name, sharded);
  destination.mutable_stored()->set_temporary(true);
  return destination;
}

v1::SortRequest* AddSort(v1::Plan& plan, const v1::Array& keys, const v1::Destination& to) {
  v1::SortRequest* const sort = plan.add_operations()->mutable_sort();
  *sort->mutable_keys() = keys;
  *sort->mutable_keys_destination() = to;
  return sort;
}

v1::MergeRequest* AddMerge(v1::Plan& plan, const std::vector<v1::Array>& keys, const v1::Destination& to) {
  v1::MergeRequest* const merge = plan.add_operations()->mutable_merge();
  for (const v1::Array& array : keys) *merge->add_keys() = array;
  *merge->mutable_keys_destination() = to;
  return merge;
}

v1::GatherIntervalsRequest* AddGather(v1::Plan& plan, const v1::Array& source, const std::vector<int64_t>& offsets,
                                      const std::vector<int64_t>& counts, const v1::Destination& to) {
  v1::GatherIntervalsRequest* const gather = plan.add_operations()->mutable_gather_intervals();
  *gather->mutable_source() = source;
  *gather->mutable_source_offsets() = Int64s(offsets);
  *gather->mutable_counts() = Int64s(counts);
  *gather->mutable_destination() = to;
  return gather;
}

class ChainTest : public ShardedKeptTest {
 protected:
  struct Answer : StreamedAnswer {
    int devices() const { return status.ok() ? results.front().sort().stats().devices() : -1; }
  };
  Answer Run(const v1::Plan& plan, const std::vector<StreamedInput>& inputs = {}) {
    return {Execute(running_->stub(), plan, Chunks(inputs, 700))};
  }
  // One that succeeds.
  Answer Get(const v1::Plan& plan, const std::vector<StreamedInput>& inputs = {}) {
    Answer answer = Run(plan, inputs);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    answer.results.resize(static_cast<size_t>(plan.operations_size()));
    return answer;
  }
  static Ints Output(const Answer& answer, uint32_t stream_id) {
    const std::string bytes = answer.Output(stream_id, sizeof(int32_t));
    return Elements<int32_t>(MakeArray(v1::ELEMENT_TYPE_INT32, bytes.data(), bytes.size()));
  }
  // The parts of a kept array; 0: it is not sharded.
  uint32_t PartsOf(const std::string& name) {
    const v1::ListArraysResponse list = memory_->List();
    for (const v1::StoredArray& array : list.arrays()) {
      if (array.name() == name) return array.shards();
    }
    ADD_FAILURE() << "no array " << name;
    return 0;
  }
  // Expects that nothing of jobs is left beside kept arrays.
  void ExpectFreed(int64_t used_bytes) {
    EXPECT_EQ(arrays().used_bytes(), used_bytes);
    EXPECT_TRUE(Eventually([this] { return running_->server().jobs().memory_in_use == 0; }));
  }
};

// By the number of devices.
class ChainOn : public ChainTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override { Start(GetParam(), 0, kPlenty); }
};

TEST_P(ChainOn, LeavesResultsInPartsFromStepToStep) {
  for (const int64_t count : {0, 1, 2, 5, 4001}) {
    const Ints keys = Keys(count, 900), history = Sorted(Keys(3000, 700));
    Ints values(keys.size());
    std::iota(values.begin(), values.end(), 0);
    ASSERT_TRUE(Store("keys", keys).ok());
    ASSERT_TRUE(Store("values", values).ok());
    ASSERT_TRUE(Store("history", history).ok());
    std::stable_sort(values.begin(), values.end(),
                     [&](int32_t a, int32_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
    const Ints merged = Merged(Sorted(keys), history);
    v1::Plan plan;
    v1::SortRequest* const sort = AddSort(plan, Kept("keys"), ToTemporary("sorted"));
    *sort->mutable_values() = Kept("values");
    *sort->mutable_values_destination() = KeptAs("moved", /*sharded=*/true);
    AddMerge(plan, {Temporary("sorted"), Kept("history")}, KeptAs("merged", /*sharded=*/true));
    AddGather(plan, Kept("merged"), {2000, 0, 7}, {900, 1, 0}, ToTemporary("gathered"));
    AddSort(plan, Temporary("gathered"), {})->set_limit(10);
    const int64_t other = arrays().used_bytes();
    const Answer answer = Get(plan);
    EXPECT_GT(arrays().used_bytes(), other);
    EXPECT_EQ(answer.results[0].sort().stats().devices(), GetParam());
    EXPECT_EQ(answer.results[1].merge().stats().devices(), GetParam());
    EXPECT_EQ(answer.results[2].gather_intervals().stats().devices(), GetParam());
    EXPECT_EQ(answer.results[3].sort().stats().devices(), GetParam());
    EXPECT_TRUE(answer.results[0].sort().keys().stored().temporary());
    EXPECT_TRUE(answer.results[1].merge().keys().stored().sharded());
    EXPECT_TRUE(Fetched("moved") == values) << count;
    EXPECT_TRUE(Fetched("merged") == merged) << count;
    EXPECT_EQ(PartsOf("merged"), static_cast<uint32_t>(GetParam()));
    Ints first(merged.begin() + 2000, merged.begin() + 2900);
    first.push_back(merged.front());
    first = Sorted(first);
    first.resize(10);
    EXPECT_TRUE(Elements<int32_t>(answer.results[3].sort().keys()) == first) << count;
    for (const char* const name : {"keys", "values", "history", "moved", "merged"}) memory_->Delete(name);
    ExpectFreed(0);
  }
}

TEST_P(ChainOn, SendsResultsInStreamsAndTakesThem) {
  const Ints keys = Keys(5003), more = Keys(2000, 50), history = Sorted(Keys(3000));
  ASSERT_TRUE(Store("history", history).ok());
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  AddSort(plan, Streamed(v1::ELEMENT_TYPE_INT32, 2000, 0), ToTemporary("new"));  // on one device
  AddMerge(plan, {Kept("history"), Temporary("new")}, ToStream(1));
  AddSort(plan, Kept("keys"), ToStream(2))->set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  *plan.mutable_operations(2)->mutable_sort()->mutable_indices_destination() = ToStream(3);
  AddSort(plan, Streamed(v1::ELEMENT_TYPE_INT32, -1, 4), KeptAs("streamed", /*sharded=*/true));
  const Answer answer = Get(plan, {{0, 4, BytesOf(more)}, {4, 4, BytesOf(keys), 0, /*ends_with_empty_chunk=*/true}});
  EXPECT_EQ(answer.results[0].sort().stats().devices(), 1);
  EXPECT_EQ(answer.results[1].merge().stats().devices(), GetParam());
  EXPECT_EQ(answer.results[2].sort().stats().devices(), GetParam());
  EXPECT_TRUE(Output(answer, 1) == Merged(history, Sorted(more)));
  EXPECT_TRUE(Output(answer, 2) == Sorted(keys));
  EXPECT_TRUE(Fetched("streamed") == Sorted(keys));
  Ints order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  EXPECT_TRUE(Output(answer, 3) == order);
  EXPECT_EQ(answer.results[2].sort().keys().stream().stream_id(), 2U);
}

TEST_P(ChainOn, BringsResultsToOneDeviceToKeepThemThere) {
  const Ints keys = Keys(4001);
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  AddSort(plan, Kept("keys"), KeptAs("whole"));
  AddGather(plan, Kept("whole"), {1000}, {500}, ToStream(0));
  const Answer answer = Get(plan);
  EXPECT_EQ(answer.results[0].sort().stats().devices(), GetParam());
  EXPECT_TRUE(Fetched("whole") == Sorted(keys));
  EXPECT_EQ(PartsOf("whole"), 0U);
  const Ints sorted = Sorted(keys);
  EXPECT_TRUE(Output(answer, 0) == Ints(sorted.begin() + 1000, sorted.begin() + 1500));
}

TEST_P(ChainOn, BringsArraysToOneDeviceForOperatorsThatNeedIt) {
  const Ints keys = Keys(4001, 900), needles = Keys(1000, 2000), sorted = Sorted(keys);
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  AddSort(plan, Kept("keys"), ToTemporary("sorted"));
  v1::SearchRequest* const search = plan.add_operations()->mutable_search();
  *search->mutable_haystack() = Temporary("sorted");
  *search->mutable_needles() = Streamed(v1::ELEMENT_TYPE_INT32, 1000, 0);
  *search->mutable_destination() = ToStream(1);
  v1::GroupRequest* const group = plan.add_operations()->mutable_group();
  *group->mutable_keys() = Temporary("sorted");
  group->add_outputs(v1::GROUP_OUTPUT_KEYS);
  group->add_outputs(v1::GROUP_OUTPUT_COUNTS);
  *group->mutable_keys_destination() = ToTemporary("groups", /*sharded=*/true);
  *group->mutable_counts_destination() = ToTemporary("counts", /*sharded=*/true);
  v1::ExpandIntervalsRequest* const expand = plan.add_operations()->mutable_expand_intervals();
  *expand->mutable_values() = Temporary("groups");
  *expand->mutable_counts() = Temporary("counts", v1::ELEMENT_TYPE_INT64);
  *expand->mutable_destination() = KeptAs("expanded", /*sharded=*/true);
  const Answer answer = Get(plan, {{0, 4, BytesOf(needles)}});
  EXPECT_EQ(answer.results[0].sort().stats().devices(), GetParam());
  EXPECT_EQ(answer.results[1].search().stats().devices(), 1);
  EXPECT_EQ(answer.results[3].expand_intervals().stats().devices(), GetParam()) << "its values are in parts again";
  Ints positions;
  for (const int32_t needle : needles) {
    positions.push_back(static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), needle) - sorted.begin()));
  }
  EXPECT_TRUE(Output(answer, 1) == positions);
  EXPECT_TRUE(Fetched("expanded") == sorted) << "groups as often as they were counted";
}

TEST_P(ChainOn, MovesWithinPartsInPlaceOfTheArray) {
  Ints keys = Keys(4001);
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  v1::MoveIntervalsRequest* const move = plan.add_operations()->mutable_move_intervals();
  *move->mutable_source() = *move->mutable_destination() = Kept("keys");
  *move->mutable_source_offsets() = Int64s({0, 3000});
  *move->mutable_destination_offsets() = Int64s({2000, 10});
  *move->mutable_counts() = Int64s({1500, 1000});
  *move->mutable_result_destination() = KeptAs("keys", /*sharded=*/true);
  AddSort(plan, Kept("keys"), KeptAs("keys", /*sharded=*/true));
  Get(plan);
  Ints moved = keys;
  std::copy_n(keys.begin(), 1500, moved.begin() + 2000);
  std::copy_n(keys.begin() + 3000, 1000, moved.begin() + 10);
  EXPECT_TRUE(Fetched("keys") == Sorted(moved)) << "the second step read what the first one made";
  EXPECT_TRUE(memory_->Delete("keys").ok());
  ExpectFreed(0);
}

TEST_P(ChainOn, PlacesResultsInSharedMemory) {
  SharedObject object(1 << 16);
  ASSERT_TRUE(memory_->Register(object).ok());
  const Ints keys = Keys(4001), sorted = Sorted(keys);
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  AddSort(plan, Kept("keys"), ToTemporary("sorted"));
  AddGather(plan, Temporary("sorted"), {0}, {4001}, ToRegion(0));
  Get(plan);
  EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), object.As<int32_t>()));
}

TEST_P(ChainOn, NamesTheStepAndTheFieldOfAnErrorAndKeepsNothing) {
  ASSERT_TRUE(Store("keys", Keys(4001)).ok());
  const int64_t used = arrays().used_bytes();
  v1::Plan plan;
  AddSort(plan, Kept("keys"), KeptAs("sorted", /*sharded=*/true));
  AddMerge(plan, {Kept("sorted"), Kept("keys")}, KeptAs("merged", /*sharded=*/true));
  const grpc::Status status = Run(plan).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "plan.operations[1].keys[1]") << status.error_message();
  EXPECT_EQ(memory_->List().arrays_size(), 1);
  ExpectFreed(used);
}

INSTANTIATE_TEST_SUITE_P(Devices, ChainOn, ::testing::Values(1, 2, 3));

TEST_F(ChainTest, ReservesRoomOnceStreamsHaveToldTheSizesOfResults) {
  Start(3, 0, int64_t{64} << 10);
  const Ints keys = Keys(30'000);
  const auto sort = [&](const Ints& streamed) {
    v1::Plan plan;
    AddSort(plan, Streamed(v1::ELEMENT_TYPE_INT32, -1, 0), KeptAs("sorted", /*sharded=*/true));
    return Run(plan, {{0, 4, BytesOf(streamed), 0, /*ends_with_empty_chunk=*/true}}).status;
  };
  EXPECT_TRUE(sort(keys).ok());
  EXPECT_EQ(arrays().used_bytes(), 120'000);
  const grpc::Status refused = sort(Keys(50'000));  // more than 64 KiB of each device
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << refused.error_message();
  EXPECT_EQ(BadField(refused), "plan.operations[0].keys_destination.stored");
  EXPECT_TRUE(Fetched("sorted") == Sorted(keys)) << "the earlier one is still there";
  ExpectFreed(120'000);
  EXPECT_TRUE(memory_->Delete("sorted").ok());
  v1::Plan plan;
  v1::ExpandIntervalsRequest* const expand = plan.add_operations()->mutable_expand_intervals();
  *expand->mutable_values() = Int32s({7, 8});
  *expand->mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, 2, 0);
  *expand->mutable_destination() = KeptAs("expanded", /*sharded=*/true);
  Get(plan, {{0, 8, BytesOf({20'000, 10'000})}});
  EXPECT_EQ(arrays().used_bytes(), 120'000);
  const grpc::Status too_many = Run(plan, {{0, 8, BytesOf({20'000, 30'000})}}).status;
  EXPECT_EQ(too_many.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << too_many.error_message();
  EXPECT_EQ(BadField(too_many), "plan.operations[0].destination.stored");
}

TEST_F(ChainTest, SortsStringsIntoAnyPlaceThatIsNotSharded) {
  Start(2, 0, kPlenty);
  const std::string strings = "pearappleplumfig", sorted = "applefigpearplum";
  ASSERT_TRUE(Store("strings", MakeArray(v1::ELEMENT_TYPE_UINT8, strings.data(), strings.size())).ok());
  ASSERT_TRUE(Store("offsets", Int64s({0, 4, 9, 13, 16})).ok());
  const auto sort_to = [](const v1::Destination& destination) {
    v1::Plan plan;
    v1::KeyColumn& column = *plan.add_operations()->mutable_sort()->add_key_columns();
    *column.mutable_data() = Kept("strings", v1::ELEMENT_TYPE_UINT8);
    *column.mutable_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
    *column.mutable_data_destination() = destination;
    return plan;
  };
  EXPECT_EQ(Get(sort_to(ToStream(1))).Output(1, 1), sorted);
  Get(sort_to(KeptAs("whole")));
  const std::vector<uint8_t> whole = Fetched<uint8_t>("whole");
  EXPECT_EQ(std::string(whole.begin(), whole.end()), sorted);
  v1::Plan chain = sort_to(ToTemporary("t"));
  AddGather(chain, Temporary("t", v1::ELEMENT_TYPE_UINT8), {0}, {16}, ToStream(1));
  EXPECT_EQ(Get(chain).Output(1, 1), sorted);
  for (const v1::Destination& sharded : {KeptAs("sharded", true), ToTemporary("sharded", true)}) {
    EXPECT_EQ(BadField(Run(sort_to(sharded)).status),
              "plan.operations[0].key_columns[0].data_destination.stored.sharded");
  }
}

TEST_F(ChainTest, TakesCountsAndOffsetsWhereverTheyLie) {
  Start(3, 0, kPlenty);
  const Ints keys = Keys(4001);
  ASSERT_TRUE(Store("keys", keys, /*sharded=*/false).ok());
  ASSERT_TRUE(Store("offsets", Int64s({5, 1000}), /*sharded=*/true).ok());
  v1::Plan plan;
  v1::GatherIntervalsRequest* const gather = AddGather(plan, Kept("keys"), {}, {1, 2}, ToStream(0));
  *gather->mutable_source_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  const Answer answer = Get(plan);
  EXPECT_EQ(answer.results[0].gather_intervals().stats().devices(), 1) << "the host reads them, so nothing is sharded";
  EXPECT_TRUE(Output(answer, 0) == (Ints{keys[5], keys[1000], keys[1001]}));
}

v1::SearchRequest* AddSearch(v1::Plan& plan, const v1::Array& haystack, const Ints& needles) {
  v1::SearchRequest* const search = plan.add_operations()->mutable_search();
  *search->mutable_haystack() = haystack;
  *search->mutable_needles() = Int32s(needles);
  return search;
}

TEST_F(ChainTest, CountsTheOperatorsThatDevicesShared) {
  Start(3, 0, kPlenty);
  ASSERT_TRUE(Store("keys", Keys(4001)).ok());
  v1::Plan plan;
  AddSort(plan, Int32s({2, 1}), {});  // one device does this, and the search
  AddSort(plan, Kept("keys"), ToTemporary("sorted"));
  AddMerge(plan, {Temporary("sorted"), Temporary("sorted")}, ToTemporary("merged"));
  AddSearch(plan, Temporary("merged"), {1});
  Get(plan);
  EXPECT_EQ(Shared("sort"), 1);
  EXPECT_EQ(Shared("merge"), 1);
}

TEST_F(ChainTest, CountsTemporariesInPartsBesideAnOperatorOfOneDevice) {
  work_bytes_ = job_bytes_ = int64_t{5} << 20;
  Start(3, 0, int64_t{2} << 20);
  ASSERT_TRUE(Store("keys", Keys(900'000)).ok());  // 3.6 MB
  const auto search_for = [&](size_t needles) {
    v1::Plan plan;
    AddSort(plan, Kept("keys"), ToTemporary("sorted"));
    AddSearch(plan, Temporary("sorted"), Ints(needles));
    return Run(plan).status;
  };
  EXPECT_EQ(search_for(50'000).error_message(), "");
  // The call has 5.2 MB. The search takes 5.2 MB, and the temporary array has 1.2 MB of each device.
  const grpc::Status refused = search_for(200'000);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("operation 1 needs"));
}

// Of two steps that share their work: a merge of the sorted keys with themselves, into a stream.
v1::Plan TwoSteps() {
  v1::Plan plan;
  AddSort(plan, Kept("keys"), ToTemporary("sorted"));
  AddMerge(plan, {Temporary("sorted"), Temporary("sorted")}, ToStream(0));
  AddSort(plan, Kept("keys"), KeptAs("kept", /*sharded=*/true));
  return plan;
}

TEST_F(ChainTest, HoldsWhatNoDeviceHoldsAlone) {
  work_bytes_ = job_bytes_ = int64_t{5} << 20;
  Start(3, 0, int64_t{2} << 20);
  const Ints keys = Keys(1'350'000);  // 5.4 MB
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::Plan plan;
  AddSort(plan, Kept("keys"), ToTemporary("sorted"));
  AddGather(plan, Temporary("sorted"), {0}, {1'350'000}, ToStream(0));
  EXPECT_TRUE(Output(Get(plan), 0) == Sorted(keys));
  *AddSearch(plan, Temporary("sorted"), {})->mutable_needles() = Temporary("sorted");
  const grpc::Status status = Run(plan).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("operation 2 needs"));
  EXPECT_THAT(status.error_message(), HasSubstr("send it as a call of its own or in smaller parts"));
  EXPECT_TRUE(memory_->Delete("keys").ok());
  ExpectFreed(0);
}

TEST_F(ChainTest, LeavesNothingBehindWhenMemoryRunsShort) {
  Start(3, 0, kPlenty);
  const Ints keys = Keys(3000, 1000), sorted = Sorted(keys);
  ASSERT_TRUE(Store("keys", keys).ok());
  const int64_t used = arrays().used_bytes();
  RunShortInEachCall(
      3, [&] { return Run(TwoSteps()); },
      [&](const Answer& answer) {
        if (answer.status.ok()) {
          EXPECT_TRUE(Output(answer, 0) == Merged(sorted, sorted));
          EXPECT_TRUE(Fetched("kept") == sorted);
        } else {
          EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << answer.status.error_message();
        }
        memory_->Delete("kept");
        ExpectFreed(used);
      });
}

TEST_F(ChainTest, EndsWithADeviceThatIsLostAndTheOthersServeOn) {
  Start(3, 0, kPlenty);
  const Ints keys = Keys(5000);
  ASSERT_TRUE(Store("keys", keys).ok());
  LoseADeviceOf([&] { return Run(TwoSteps()); });
  EXPECT_TRUE(Eventually([this] { return arrays().used_bytes() == 0; })) << "on the others too";
  ASSERT_TRUE(Store("keys", keys).ok());
  const Answer answer = Get(TwoSteps());
  EXPECT_EQ(answer.devices(), 2);
  EXPECT_TRUE(Output(answer, 0) == Merged(Sorted(keys), Sorted(keys)));
  EXPECT_FALSE(running_->server().device_lost());
}

TEST_F(ChainTest, HoldsItsArraysUntilItEndsAndKeepsNothingOnceCancelled) {
  Start(3, 0, kPlenty);
  ASSERT_TRUE(Store("keys", Keys(5000)).ok());
  const int64_t used = arrays().used_bytes();
  device(1).Hold();
  grpc::ClientContext context;
  std::future<StreamedAnswer> chain =
      std::async(std::launch::async, [&] { return Execute(running_->stub(), TwoSteps(), {}, &context); });
  EXPECT_TRUE(Eventually([this] { return device(1).held() == 1; }));
  EXPECT_EQ(memory_->Delete("keys").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  context.TryCancel();
  EXPECT_EQ(chain.get().status.error_code(), grpc::StatusCode::CANCELLED);
  AwaitCancel();
  device(1).Release();
  EXPECT_TRUE(Eventually([&] { return arrays().used_bytes() == used; }));
  EXPECT_EQ(memory_->List().arrays_size(), 1);
  EXPECT_TRUE(Eventually([&] { return memory_->Delete("keys").ok(); })) << "nothing uses it any more";
}

}  // namespace
}  // namespace corank::testing
