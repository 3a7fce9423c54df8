// Operators that bring the parts of sharded arrays to one device, and that divide what one device made. The devices are
// CPU engines that tests hold and lose, so that nothing depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/server/sharded_kept_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

class WholeTest : public ShardedKeptTest {
 protected:
  template <typename Request>
  struct Answer {
    grpc::Status status;
    typename Unary<Request>::Response response;
    int devices() const { return status.ok() ? response.stats().devices() : -1; }
  };
  template <typename Request>
  Answer<Request> Run(const Request& request) {
    Answer<Request> answer;
    grpc::ClientContext context;
    answer.status = Call(running_->stub(), &context, request, &answer.response);
    return answer;
  }
  // One that succeeds on one device.
  template <typename Request>
  typename Unary<Request>::Response Get(const Request& request) {
    const Answer<Request> answer = Run(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.devices(), 1);
    return answer.response;
  }
  // Stores INT64 in parts.
  grpc::Status StoreInt64s(const std::string& name, const std::vector<int64_t>& numbers) {
    return Store(name, Int64s(numbers), /*sharded=*/true);
  }
  bool IsKeptSharded(const std::string& name) {
    const v1::ListArraysResponse list = memory_->List();
    for (const v1::StoredArray& array : list.arrays()) {
      if (array.name() == name) return array.shards() == devices_.size();
    }
    return false;
  }
};

// By the number of devices.
class WholeOn : public WholeTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override { Start(GetParam(), 0, kPlenty); }
};

TEST_P(WholeOn, Search) {
  for (const int64_t count : {0, 1, 2, 4001}) {
    const Ints haystack = Sorted(Keys(count, 3000)), needles = Keys(1500, 4000);
    ASSERT_TRUE(Store("haystack", haystack).ok());
    ASSERT_TRUE(Store("needles", needles).ok());
    std::vector<uint32_t> expected;
    for (const int32_t needle : needles) {
      const auto found = std::lower_bound(haystack.begin(), haystack.end(), needle);
      expected.push_back(static_cast<uint32_t>(found - haystack.begin()));
    }
    v1::SearchRequest request;
    *request.mutable_haystack() = Kept("haystack");
    *request.mutable_needles() = Int32s(needles);
    EXPECT_TRUE(Elements<uint32_t>(Get(request).positions()) == expected) << count;
    *request.mutable_needles() = Kept("needles");
    *request.mutable_destination() = KeptAs("positions", /*sharded=*/true);
    Get(request);
    EXPECT_TRUE(Fetched<uint32_t>("positions") == expected) << count;
    EXPECT_TRUE(IsKeptSharded("positions"));
  }
}

TEST_P(WholeOn, Group) {
  const Ints keys = Keys(4001, 300), values = Keys(4001);
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(Store("values", values).ok());
  std::map<int32_t, std::pair<int64_t, int64_t>> groups;  // key, its number and the sum of its values
  for (size_t i = 0; i < keys.size(); ++i) {
    ++groups[keys[i]].first;
    groups[keys[i]].second += values[i];
  }
  Ints expected_keys;
  std::vector<int64_t> counts, sums;
  for (const auto& [key, group] : groups) {
    expected_keys.push_back(key);
    counts.push_back(group.first);
    sums.push_back(group.second);
  }
  v1::GroupRequest request;
  *request.mutable_keys() = Kept("keys");
  *request.mutable_values() = Kept("values");
  for (const v1::GroupOutput output : {v1::GROUP_OUTPUT_KEYS, v1::GROUP_OUTPUT_COUNTS, v1::GROUP_OUTPUT_SUMS}) {
    request.add_outputs(output);
  }
  *request.mutable_keys_destination() = KeptAs("groups", /*sharded=*/true);
  *request.mutable_sums_destination() = KeptAs("sums", /*sharded=*/true);
  const v1::GroupResponse response = Get(request);
  EXPECT_TRUE(response.keys().stored().sharded());
  EXPECT_EQ(response.keys().count(), static_cast<int64_t>(groups.size())) << "not the most that there could be";
  EXPECT_TRUE(Elements<int64_t>(response.counts()) == counts);
  EXPECT_TRUE(Fetched("groups") == expected_keys);
  EXPECT_TRUE(Fetched<int64_t>("sums") == sums);
  EXPECT_TRUE(IsKeptSharded("groups"));
  ASSERT_TRUE(Store("keys", Ints()).ok());
  ASSERT_TRUE(Store("values", Ints()).ok());
  EXPECT_EQ(Get(request).keys().count(), 0);
  EXPECT_TRUE(Fetched("groups").empty());
}

TEST_P(WholeOn, CombineSets) {
  const Ints left = Sorted(Keys(3000, 2000)), right = Sorted(Keys(2500, 4000));
  ASSERT_TRUE(Store("left", left).ok());
  ASSERT_TRUE(Store("right", right, /*sharded=*/false).ok());
  Ints expected;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(expected));
  v1::CombineSetsRequest request;
  request.set_operation(v1::SET_OPERATION_INTERSECTION);
  *request.mutable_left() = Kept("left");
  *request.mutable_right() = Kept("right");
  EXPECT_TRUE(Elements<int32_t>(Get(request).keys()) == expected);
  *request.mutable_keys_destination() = KeptAs("both", /*sharded=*/true);
  Get(request);
  EXPECT_TRUE(Fetched("both") == expected);
}

TEST_P(WholeOn, Join) {
  const Ints left = Keys(1000, 700), right = Keys(800, 900);
  ASSERT_TRUE(Store("left", left).ok());
  ASSERT_TRUE(Store("right", right).ok());
  Ints left_rows, right_rows;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = 0; j < right.size(); ++j) {
      if (left[i] != right[j]) continue;
      left_rows.push_back(static_cast<int32_t>(i));
      right_rows.push_back(static_cast<int32_t>(j));
    }
  }
  ASSERT_FALSE(left_rows.empty());
  v1::JoinRequest request;
  request.set_kind(v1::JOIN_KIND_INNER);
  *request.mutable_left() = Kept("left");
  *request.mutable_right() = Kept("right");
  request.set_max_rows(20'000);
  *request.mutable_right_rows_destination() = KeptAs("right-rows", /*sharded=*/true);
  EXPECT_TRUE(Elements<int32_t>(Get(request).left_rows()) == left_rows);
  EXPECT_TRUE(Fetched("right-rows") == right_rows);
}

TEST_P(WholeOn, Select) {
  const Ints elements = Keys(4001, 100);
  ASSERT_TRUE(Store("elements", elements).ok());
  Ints expected;
  std::copy_if(elements.begin(), elements.end(), std::back_inserter(expected),
               [](int32_t each) { return each < -950; });
  v1::SelectRequest request;
  *request.mutable_elements() = Kept("elements");
  *request.mutable_threshold() = Int32s({-950});
  request.set_comparison(v1::COMPARISON_LESS);
  request.add_outputs(v1::SELECT_OUTPUT_ELEMENTS);
  EXPECT_TRUE(Elements<int32_t>(Get(request).elements()) == expected);
  *request.mutable_elements_destination() = KeptAs("elements", /*sharded=*/true);
  Get(request);
  EXPECT_TRUE(Fetched("elements") == expected) << "in place of the array itself";
  EXPECT_TRUE(memory_->Delete("elements").ok());
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_P(WholeOn, RanksOfKeysAndOfRows) {
  const Ints keys = Keys(2000, 300), sorted = Sorted(keys);
  ASSERT_TRUE(Store("keys", keys).ok());
  std::vector<uint32_t> at_least, dense;
  Ints distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const int32_t key : keys) {
    const auto rank = [key](const Ints& in) {
      return static_cast<uint32_t>(std::lower_bound(in.begin(), in.end(), key) - in.begin()) + 1;
    };
    at_least.push_back(rank(sorted));
    dense.push_back(rank(distinct));
  }
  v1::RankRequest request;
  *request.mutable_keys() = Kept("keys");
  request.set_method(v1::RANK_METHOD_MIN);
  *request.mutable_ranks_destination() = KeptAs("ranks", /*sharded=*/true);
  Get(request);
  EXPECT_TRUE(Fetched<uint32_t>("ranks") == at_least);
  v1::SortRequest rows;
  *rows.add_key_columns()->mutable_data() = Kept("keys");
  rows.set_output(v1::SORT_OUTPUT_RANKS);
  *rows.mutable_ranks_destination() = KeptAs("ranks", /*sharded=*/true);
  Get(rows);
  EXPECT_TRUE(Fetched<uint32_t>("ranks") == dense);
}

TEST_P(WholeOn, SortsOfSegmentsWhoseOffsetsAreShardedToo) {
  Ints keys = Keys(4001);
  const std::vector<int64_t> offsets = {0, 0, 1, 1500, 1501, 4000, 4001};
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(StoreInt64s("offsets", offsets).ok());
  v1::SortRequest request;
  *request.mutable_keys() = Kept("keys");
  *request.mutable_segment_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  *request.mutable_keys_destination() = KeptAs("sorted", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(request); });
  v1::SortRequest rows;
  *rows.add_key_columns()->mutable_data() = Kept("keys");
  *rows.mutable_key_columns(0)->mutable_data_destination() = KeptAs("sorted-rows", /*sharded=*/true);
  *rows.mutable_segment_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  AnswerOn(GetParam(), [&] { return Run(rows); });
  for (size_t i = 1; i < offsets.size(); ++i) std::sort(keys.begin() + offsets[i - 1], keys.begin() + offsets[i]);
  EXPECT_TRUE(Fetched("sorted") == keys);
  EXPECT_TRUE(Fetched("sorted-rows") == keys);
}

TEST_P(WholeOn, RanksOfSegmentsWhoseOffsetsAreShardedToo) {
  const Ints keys = Keys(4001, 20);
  const std::vector<int64_t> offsets = {0, 0, 1, 1500, 1501, 4000, 4001};
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(StoreInt64s("offsets", offsets).ok());
  v1::RankRequest request;
  *request.mutable_keys() = Kept("keys");
  request.set_method(v1::RANK_METHOD_MAX);
  *request.mutable_segment_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  *request.mutable_ranks_destination() = KeptAs("ranks", /*sharded=*/true);
  Get(request);
  std::vector<uint32_t> at_most;
  for (size_t i = 1; i < offsets.size(); ++i) {
    const auto begin = keys.begin() + offsets[i - 1], end = keys.begin() + offsets[i];
    for (auto key = begin; key < end; ++key) {
      at_most.push_back(static_cast<uint32_t>(std::count_if(begin, end, [&](int32_t other) { return other <= *key; })));
    }
  }
  EXPECT_TRUE(Fetched<uint32_t>("ranks") == at_most);
}

TEST_P(WholeOn, SortsOfStrings) {
  const std::string strings = "pearappleplumfig";
  ASSERT_TRUE(Store("strings", MakeArray(v1::ELEMENT_TYPE_UINT8, strings.data(), strings.size())).ok());
  ASSERT_TRUE(StoreInt64s("offsets", {0, 4, 9, 13, 16}).ok());
  v1::SortRequest request;
  v1::KeyColumn& column = *request.add_key_columns();
  *column.mutable_data() = Kept("strings", v1::ELEMENT_TYPE_UINT8);
  *column.mutable_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  *column.mutable_offsets_destination() = KeptAs("sorted-offsets", /*sharded=*/true);
  const v1::SortResponse response = Get(request);
  EXPECT_EQ(response.key_columns(0).data().inline_data(), "applefigpearplum");
  EXPECT_TRUE(Fetched<int64_t>("sorted-offsets") == std::vector<int64_t>({0, 5, 8, 12, 16}));
  *column.mutable_data_destination() = KeptAs("sorted", /*sharded=*/true);
  const grpc::Status refused = Run(request).status;
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(refused), "key_columns[0].data_destination.stored.sharded");
  EXPECT_THAT(refused.error_message(), HasSubstr("keep them without sharding")) << "what the caller can do";
}

TEST_P(WholeOn, CountsAndOffsetsThatAreSharded) {
  const Ints source = Keys(1000);
  const std::vector<int64_t> offsets = {999, 0, 500, 7, 7}, counts = {1, 300, 0, 900, 2};
  ASSERT_TRUE(Store("source", source).ok());
  ASSERT_TRUE(StoreInt64s("offsets", offsets).ok());
  ASSERT_TRUE(StoreInt64s("counts", counts).ok());
  Ints expected;
  for (size_t i = 0; i < counts.size(); ++i) {
    expected.insert(expected.end(), source.begin() + offsets[i], source.begin() + offsets[i] + counts[i]);
  }
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Kept("source");
  *request.mutable_source_offsets() = Kept("offsets", v1::ELEMENT_TYPE_INT64);
  *request.mutable_counts() = Kept("counts", v1::ELEMENT_TYPE_INT64);
  const Answer<v1::GatherIntervalsRequest> answer = Run(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.devices(), GetParam()) << "only the source counts";
  EXPECT_TRUE(Elements<int32_t>(answer.response.result()) == expected);
  ASSERT_TRUE(StoreInt64s("counts", {1, 300, 0, 900, 995}).ok());
  EXPECT_EQ(BadField(Run(request).status), "source_offsets[4]") << "beyond the end";
}

TEST_P(WholeOn, CopiesToOneDeviceAndBack) {
  const Ints elements = Keys(4001);
  ASSERT_TRUE(Store("parts", elements).ok());
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Kept("parts");
  *request.mutable_source_offsets() = Int64s({0});
  *request.mutable_counts() = Int64s({4001});
  *request.mutable_destination() = KeptAs("whole");
  Get(request);
  EXPECT_TRUE(Fetched("whole") == elements);
  EXPECT_FALSE(IsKeptSharded("whole"));
  ASSERT_TRUE(memory_->Delete("parts").ok());
  *request.mutable_source() = Kept("whole");
  *request.mutable_destination() = KeptAs("parts", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(request); });
  EXPECT_TRUE(Fetched("parts") == elements);
  EXPECT_TRUE(IsKeptSharded("parts"));
}

TEST_P(WholeOn, WorksBesideArraysOfOneDevice) {
  const Ints keys = Keys(3000, 40);
  Ints values(keys.size());
  std::iota(values.begin(), values.end(), 0);
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(Store("values", values, /*sharded=*/false).ok());
  v1::SortRequest request;
  *request.mutable_keys() = Kept("keys");
  *request.mutable_values() = Kept("values");
  *request.mutable_keys_destination() = KeptAs("sorted", /*sharded=*/true);
  *request.mutable_values_destination() = KeptAs("moved");
  Get(request);
  std::stable_sort(values.begin(), values.end(),
                   [&](int32_t a, int32_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  EXPECT_TRUE(Fetched("sorted") == Sorted(keys));
  EXPECT_TRUE(Fetched("moved") == values);
  EXPECT_EQ(Shared("sort"), 0) << "one device does it, because it keeps a result";
  *request.mutable_values_destination() = KeptAs("parts", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(request); });
  EXPECT_TRUE(Fetched("parts") == values) << "all take parts of the values";
}

TEST_P(WholeOn, DividesArraysOfOneDeviceForOperatorsOnParts) {
  const Ints first = Sorted(Keys(3000)), second = Sorted(Keys(2001));
  ASSERT_TRUE(Store("first", first).ok());
  ASSERT_TRUE(Store("second", second, /*sharded=*/false).ok());
  v1::MergeRequest merge;
  *merge.add_keys() = Kept("first");
  *merge.add_keys() = Kept("second");
  *merge.mutable_keys_destination() = KeptAs("merged", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(merge); });
  Ints merged;
  std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(merged));
  EXPECT_TRUE(Fetched("merged") == merged);
  v1::ExpandIntervalsRequest expand;
  *expand.mutable_values() = Kept("second");
  *expand.mutable_counts() = Int64s(std::vector<int64_t>(2001, 3));
  *expand.mutable_destination() = KeptAs("expanded", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(expand); });
  Ints expanded;
  for (const int32_t value : second) expanded.insert(expanded.end(), 3, value);
  EXPECT_TRUE(Fetched("expanded") == expanded);
  v1::MoveIntervalsRequest move;
  *move.mutable_source() = Kept("second");
  *move.mutable_destination() = Kept("first");
  *move.mutable_source_offsets() = Int64s({100});
  *move.mutable_destination_offsets() = Int64s({900});
  *move.mutable_counts() = Int64s({1500});
  AnswerOn(GetParam(), [&] { return Run(move); });
  Ints moved = first;
  std::copy_n(second.begin() + 100, 1500, moved.begin() + 900);
  EXPECT_TRUE(Elements<int32_t>(Run(move).response.result()) == moved);
  v1::SortRequest rows;
  *rows.add_key_columns()->mutable_data() = Kept("second");
  rows.set_output(v1::SORT_OUTPUT_INDICES);
  *rows.mutable_indices_destination() = KeptAs("indices", /*sharded=*/true);
  AnswerOn(GetParam(), [&] { return Run(rows); });
  std::vector<uint32_t> order(second.size());
  std::iota(order.begin(), order.end(), 0U);
  EXPECT_TRUE(Fetched<uint32_t>("indices") == order);
}

INSTANTIATE_TEST_SUITE_P(Devices, WholeOn, ::testing::Values(1, 2, 3));

// Of the keys of `haystack`, a sharded array, in itself.
v1::SearchRequest SearchOfItself() {
  v1::SearchRequest request;
  *request.mutable_haystack() = *request.mutable_needles() = Kept("haystack");
  *request.mutable_destination() = KeptAs("positions", /*sharded=*/true);
  return request;
}

TEST_F(WholeTest, ThatNoDeviceHoldsIsRefusedWithAdvice) {
  work_bytes_ = int64_t{64} << 20;
  Start(2, 0, int64_t{64} << 20);
  ASSERT_TRUE(Store("haystack", Sorted(Keys(12'000'000))).ok());
  const grpc::Status status = Run(SearchOfItself()).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("fetch them")) << "what the caller can do";
  v1::SearchRequest small = SearchOfItself();
  *small.mutable_needles() = Int32s({5});
  *small.mutable_haystack() = Int32s({4, 6});
  EXPECT_TRUE(Run(small).status.ok()) << "what it had reserved";
}

TEST_F(WholeTest, TryAgainWhenMemoryRunsShort) {
  Start(3, 0, kPlenty);
  const Ints haystack = Sorted(Keys(3000, 1000));
  ASSERT_TRUE(Store("haystack", haystack).ok());
  std::vector<uint32_t> expected;
  for (const int32_t needle : haystack) {
    const auto found = std::lower_bound(haystack.begin(), haystack.end(), needle);
    expected.push_back(static_cast<uint32_t>(found - haystack.begin()));
  }
  RunShortInEachCall(
      1, [&] { return Run(SearchOfItself()); },
      [&](const Answer<v1::SearchRequest>& answer) {
        if (!answer.status.ok()) {
          EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << answer.status.error_message();
          return;
        }
        EXPECT_TRUE(Fetched<uint32_t>("positions") == expected);
      });
  memory_->Delete("positions");
  EXPECT_TRUE(memory_->Delete("haystack").ok());
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_F(WholeTest, EndsWithADeviceThatHoldsAPartAndTheOthersServeOn) {
  Start(3, 0, kPlenty);
  const Ints keys = Keys(5000);
  ASSERT_TRUE(Store("keys", keys).ok());
  v1::SortRequest request;
  *request.add_key_columns()->mutable_data() = Kept("keys");
  request.set_output(v1::SORT_OUTPUT_RANKS);
  *request.mutable_ranks_destination() = KeptAs("ranks", /*sharded=*/true);
  for (int i = 0; i < 3; ++i) device(i).Hold();
  std::future<grpc::Status> sort = SortLater(request);
  int worker = -1;
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 3; ++i) worker = device(i).held() > 0 ? i : worker;
    return worker >= 0;
  }));
  device((worker + 1) % 3).Lose();
  EXPECT_FALSE(Store("notices", Keys(10)).ok());
  const grpc::Status status = sort.get();  // while the one that works is held
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  for (int i = 0; i < 3; ++i) device(i).Release();
  EXPECT_TRUE(Eventually([this] { return arrays().used_bytes() == 0; }));
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(Run(request).status.ok());
  std::vector<uint32_t> expected;
  const Ints sorted = Sorted(keys);  // all different
  for (const int32_t key : keys) {
    expected.push_back(static_cast<uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin()) + 1);
  }
  EXPECT_TRUE(Fetched<uint32_t>("ranks") == expected);
  EXPECT_FALSE(running_->server().device_lost());
}

}  // namespace
}  // namespace corank::testing
