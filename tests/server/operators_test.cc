// Every operator through the whole server, over loopback, on the CPU engine, compared with plain std:: code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "tests/server/good_requests.h"
#include "tests/server/operators_fixture.h"
#include "tests/server/raw_stream.h"
#include "version/version.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(OperatorsTest, SortsKeysWithValuesOfEveryType) {
  uint64_t seed = 1;
  for (const KeyType type : kAllKeyTypes) {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      for (const int64_t count : {0, 1, 1000}) {
        SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " x " << count << ", seed " << ++seed);
        const Bytes keys = MakeKeys(type, Distribution::kSpecialFloats, count, seed);
        const Bytes values = MakeBytes(3 * count, seed);
        v1::SortRequest request;
        *request.mutable_keys() = ToArray(type, keys);
        *request.mutable_values() = ToRecords(3, values);
        request.set_order(order == Order::kAscending ? v1::SORT_ORDER_UNSPECIFIED : v1::SORT_ORDER_DESCENDING);
        const auto response = Get<v1::SortResponse>(request);
        const std::vector<int64_t> expected = StableOrder(type, order, keys);
        EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, KeyBytes(type), expected)));
        EXPECT_EQ(response.keys().type(), static_cast<v1::ElementType>(type));
        EXPECT_EQ(response.keys().count(), count);
        EXPECT_EQ(response.values().inline_data(), Text(Gather(values, 3, expected)));
        EXPECT_EQ(response.values().record_bytes(), 3U);
        EXPECT_FALSE(response.has_indices());
        EXPECT_NE(response.algorithm(), v1::SORT_ALGORITHM_UNSPECIFIED);
      }
    }
  }
}

TEST_F(OperatorsTest, ReturnsWhatSortWasAskedFor) {
  const Bytes keys = MakeKeys(KeyType::kInt16, Distribution::kSixteenDistinct, 500, 7);
  const std::vector<int64_t> expected = StableOrder(KeyType::kInt16, Order::kAscending, keys);
  v1::SortRequest request;
  *request.mutable_keys() = ToArray(KeyType::kInt16, keys);
  request.set_output(v1::SORT_OUTPUT_INDICES);
  auto response = Get<v1::SortResponse>(request);
  EXPECT_FALSE(response.has_keys());
  EXPECT_EQ(response.indices().type(), v1::ELEMENT_TYPE_UINT32);
  EXPECT_EQ(response.indices().inline_data(), Indices(expected));

  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  request.set_limit(10);
  response = Get<v1::SortResponse>(request);
  const std::vector<int64_t> first(expected.begin(), expected.begin() + 10);
  EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, 2, first)));
  EXPECT_EQ(response.indices().inline_data(), Indices(first));

  request.set_limit(0);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.keys().count(), 0);
  EXPECT_EQ(response.indices().count(), 0);
}

TEST_F(OperatorsTest, SortsRowsOfSeveralColumns) {
  // Numbers, byte strings (row 1 is null), and strings: "a", "", "bcd". Rows 0 and 2 differ in the second column only.
  v1::SortRequest request = GoodColumnSort();
  *request.mutable_values() = ToRecords(1, {'x', 'y', 'z'});
  auto response = Get<v1::SortResponse>(request);
  EXPECT_FALSE(response.has_keys());
  ASSERT_EQ(response.key_columns_size(), 3);
  EXPECT_EQ(response.key_columns(0).data().inline_data(), Int32s({1, 2, 2}).inline_data());
  EXPECT_EQ(response.key_columns(0).data().type(), v1::ELEMENT_TYPE_INT32);
  EXPECT_FALSE(response.key_columns(0).has_offsets());
  EXPECT_EQ(response.key_columns(1).data().inline_data(), "aaabbb");
  EXPECT_EQ(response.key_columns(1).data().record_bytes(), 2U);
  EXPECT_EQ(response.key_columns(1).validity().inline_data(), "\x06");
  EXPECT_EQ(response.key_columns(1).validity().type(), v1::ELEMENT_TYPE_UINT8);
  EXPECT_EQ(response.key_columns(2).data().inline_data(), "bcda");
  EXPECT_FALSE(response.key_columns(2).has_validity());
  EXPECT_EQ(response.key_columns(2).offsets().inline_data(), Int64s({0, 0, 3, 4}).inline_data());
  EXPECT_EQ(response.key_columns(2).offsets().type(), v1::ELEMENT_TYPE_INT64);
  EXPECT_EQ(response.values().inline_data(), "yzx");

  request.clear_values();
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  request.set_limit(2);
  request.mutable_key_columns(0)->set_order(v1::SORT_ORDER_DESCENDING);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({2, 0}));
  EXPECT_EQ(response.key_columns(2).data().inline_data(), "bcda");
  EXPECT_EQ(response.key_columns(2).data().count(), 4);
  EXPECT_EQ(response.key_columns(1).validity().inline_data(), "\x03");
  EXPECT_EQ(response.key_columns(2).offsets().inline_data(), Int64s({0, 3, 4}).inline_data());

  request.set_output(v1::SORT_OUTPUT_INDICES);
  request.set_limit(1);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.key_columns_size(), 0);
  EXPECT_EQ(response.indices().inline_data(), Indices({2}));
}

TEST_F(OperatorsTest, MergesRunsOfRows) {
  // Of rows 0 to 2 of the request, the first is a run and the other two are: 2, 1 and 2 in the first column.
  v1::SortRequest request = GoodColumnSort();
  *request.mutable_run_offsets() = Int64s({0, 1, 1, 3});
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  auto response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({1, 2, 0}));
  EXPECT_EQ(response.key_columns(2).data().inline_data(), "bcda");
  EXPECT_EQ(response.algorithm(), v1::SORT_ALGORITHM_MERGE_RUNS);

  request.set_output(v1::SORT_OUTPUT_RANKS);
  EXPECT_EQ(Get<v1::SortResponse>(request).ranks().inline_data(), Indices({3, 1, 2}));

  request.clear_output();
  *request.mutable_run_offsets() = Int64s({0, 2, 3});
  grpc::ClientContext context;
  const grpc::Status refused = Call(running_->stub(), &context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("run_offsets[0]: the run is not sorted by its columns: row 1 of the "
                                                 "table comes before row 0"));
}

TEST_F(OperatorsTest, RanksRowsOfSeveralColumns) {
  v1::SortRequest request = GoodColumnSort();
  request.set_output(v1::SORT_OUTPUT_RANKS);
  auto response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.key_columns_size(), 0);
  EXPECT_FALSE(response.has_indices());
  EXPECT_EQ(response.ranks().inline_data(), Indices({3, 1, 2}));
  EXPECT_EQ(response.ranks().type(), v1::ELEMENT_TYPE_UINT32);

  request.mutable_key_columns()->DeleteSubrange(1, 2);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.ranks().inline_data(), Indices({2, 1, 2}));
}

TEST_F(OperatorsTest, SortsNullsAndNansToTheEndThatTheRequestNames) {
  // 5, null, NaN, null, 1. The bits after the last row mean nothing.
  v1::SortRequest request;
  v1::KeyColumn& column = *request.add_key_columns();
  const float numbers[] = {5, 2, std::numeric_limits<float>::quiet_NaN(), 7, 1};
  *column.mutable_data() = MakeArray(v1::ELEMENT_TYPE_FLOAT32, numbers, sizeof(numbers));
  *column.mutable_validity() = MakeArray(v1::ELEMENT_TYPE_UINT8, "\xF5", 1);
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  const auto order = [&](v1::SortOrder order, v1::NullOrder nulls, v1::NanOrder nans) {
    column.set_order(order);
    column.set_nulls(nulls);
    column.set_nans(nans);
    return Get<v1::SortResponse>(request);
  };
  constexpr auto kAscending = v1::SORT_ORDER_ASCENDING, kDescending = v1::SORT_ORDER_DESCENDING;
  const auto indices = [](const v1::SortResponse& response) { return response.indices().inline_data(); };
  auto response = order(kAscending, v1::NULL_ORDER_UNSPECIFIED, v1::NAN_ORDER_UNSPECIFIED);
  EXPECT_EQ(indices(response), Indices({4, 0, 2, 1, 3}));
  EXPECT_EQ(response.key_columns(0).validity().inline_data(), "\x07");
  response = order(kDescending, v1::NULL_ORDER_LAST, v1::NAN_ORDER_GREATEST);
  EXPECT_EQ(indices(response), Indices({2, 0, 4, 1, 3}));
  response = order(kDescending, v1::NULL_ORDER_FIRST, v1::NAN_ORDER_BESIDE_NULLS);
  EXPECT_EQ(indices(response), Indices({1, 3, 2, 0, 4}));
  EXPECT_EQ(response.key_columns(0).validity().inline_data(), "\x1C");
  response = order(kAscending, v1::NULL_ORDER_FIRST, v1::NAN_ORDER_AS_NULLS);
  EXPECT_EQ(indices(response), Indices({1, 2, 3, 4, 0}));
  const float sorted[] = {2, numbers[2], 7, 1, 5};
  EXPECT_EQ(response.key_columns(0).data().inline_data(),
            MakeArray(v1::ELEMENT_TYPE_FLOAT32, sorted, sizeof(sorted)).inline_data());
  response = order(kDescending, v1::NULL_ORDER_LAST, v1::NAN_ORDER_BESIDE_NULLS);
  EXPECT_EQ(indices(response), Indices({0, 4, 2, 1, 3}));
  column.clear_validity();
  response = order(kDescending, v1::NULL_ORDER_LAST, v1::NAN_ORDER_AS_NULLS);
  EXPECT_EQ(indices(response), Indices({3, 0, 1, 4, 2}));
  EXPECT_FALSE(response.key_columns(0).has_validity());
}

TEST_F(OperatorsTest, SortsSegmentsForThemselves) {
  const Bytes keys = MakeKeys(KeyType::kFloat32, Distribution::kUniform, 100, 8);
  const std::vector<int64_t> offsets = {0, 0, 33, 34, 100};
  v1::SortRequest request;
  *request.mutable_keys() = ToArray(KeyType::kFloat32, keys);
  *request.mutable_segment_offsets() = Int64s(offsets);
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  const auto response = Get<v1::SortResponse>(request);
  const std::vector<int64_t> expected = StableOrder(KeyType::kFloat32, Order::kAscending, keys, offsets);
  EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, 4, expected)));
  EXPECT_EQ(response.indices().inline_data(), Indices(expected));
}

TEST_F(OperatorsTest, TakesTheFirstOfEachSegment) {
  const Bytes keys = MakeKeys(KeyType::kFloat32, Distribution::kUniform, 100, 8), values = MakeBytes(300, 9);
  const std::vector<int64_t> offsets = {0, 0, 33, 34, 100};
  for (const int64_t limit : {0, 1, 2, 33, 66, 100}) {
    v1::SortRequest request;
    *request.mutable_keys() = ToArray(KeyType::kFloat32, keys);
    *request.mutable_values() = ToRecords(3, values);
    *request.mutable_segment_offsets() = Int64s(offsets);
    request.set_limit(limit);
    const auto response = Get<v1::SortResponse>(request);
    const std::vector<int64_t> expected =
        FirstOfOrder(StableOrder(KeyType::kFloat32, Order::kAscending, keys, offsets), limit, offsets);
    EXPECT_EQ(response.keys().count(), static_cast<int64_t>(expected.size())) << limit;
    EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, 4, expected))) << limit;
    EXPECT_EQ(response.values().inline_data(), Text(Gather(values, 3, expected))) << limit;
  }
}

TEST_F(OperatorsTest, TakesTheFirstRowsOfEachSegment) {
  const std::vector<std::string> strings = {"fig", "apple", "", "plum", "pear", "date", "fig"};
  v1::SortRequest request;
  std::string bytes;
  std::vector<int64_t> offsets = {0};
  for (const std::string& string : strings) {
    bytes += string;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  v1::KeyColumn& column = *request.add_key_columns();
  *column.mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, bytes.data(), static_cast<int64_t>(bytes.size()));
  *column.mutable_offsets() = Int64s(offsets);
  column.set_order(v1::SORT_ORDER_ASCENDING);
  *column.mutable_validity() = MakeArray(v1::ELEMENT_TYPE_UINT8, "\x7b", 1);  // row 2 is null
  *request.mutable_segment_offsets() = Int64s({0, 2, 2, 2, 7});
  request.set_limit(2);
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  auto response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({1, 0, 5, 6}));
  EXPECT_EQ(response.key_columns(0).data().inline_data(), "applefigdatefig");
  EXPECT_EQ(response.key_columns(0).data().count(), 15);
  EXPECT_EQ(response.key_columns(0).offsets().inline_data(), Int64s({0, 5, 8, 12, 15}).inline_data());
  EXPECT_EQ(response.key_columns(0).validity().inline_data(), "\x0f");
  request.set_limit(5);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({1, 0, 5, 6, 4, 3, 2}));
  EXPECT_EQ(response.key_columns(0).validity().inline_data(), "\x3f");
}

TEST_F(OperatorsTest, TakesTheAlgorithmThatWasAskedFor) {
  v1::SortRequest sort;
  *sort.mutable_keys() = ToArray(KeyType::kUint32, MakeKeys(KeyType::kUint32, Distribution::kUniform, 5000, 9));
  for (const auto algorithm :
       {v1::SORT_ALGORITHM_MERGESORT, v1::SORT_ALGORITHM_RADIX, v1::SORT_ALGORITHM_ODD_EVEN_MERGESORT}) {
    sort.set_algorithm(algorithm);
    EXPECT_EQ(Get<v1::SortResponse>(sort).algorithm(), algorithm);
  }
}

TEST_F(OperatorsTest, MergesManyInputsWithValues) {
  std::vector<Bytes> inputs;
  Bytes all_keys, all_values;
  v1::MergeRequest request;
  for (uint64_t i = 0; i < 5; ++i) {
    const Bytes keys = MakeKeys(KeyType::kUint8, Distribution::kSorted, static_cast<int64_t>(i) * 50, i);
    const Bytes values = MakeBytes(static_cast<int64_t>(keys.size()) * 12, 100 + i);
    *request.add_keys() = ToArray(KeyType::kUint8, keys);
    *request.add_values() = ToRecords(12, values);
    all_keys.insert(all_keys.end(), keys.begin(), keys.end());
    all_values.insert(all_values.end(), values.begin(), values.end());
    inputs.push_back(keys);
  }
  const auto response = Get<v1::MergeResponse>(request);
  const std::vector<int64_t> expected = MergeOrder(KeyType::kUint8, Order::kAscending, inputs);
  EXPECT_EQ(response.keys().inline_data(), Text(Gather(all_keys, 1, expected)));
  EXPECT_EQ(response.values().inline_data(), Text(Gather(all_values, 12, expected)));
}

TEST_F(OperatorsTest, ExpandsIntervals) {
  const Bytes values = MakeBytes(5 * 7, 11);
  const std::vector<int64_t> counts = {3, 0, 1, 0, 400, 2, 1};
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = ToRecords(5, values);
  *request.mutable_counts() = Int64s(counts);
  const auto response = Get<v1::ExpandIntervalsResponse>(request);
  EXPECT_EQ(response.values().inline_data(), Text(Gather(values, 5, LoadBalance(counts).first)));
  EXPECT_EQ(response.values().count(), 407);
}

TEST_F(OperatorsTest, MovesGathersAndScattersIntervals) {
  const Bytes source = MakeKeys(KeyType::kInt64, Distribution::kUniform, 10, 12);
  const std::vector<int64_t> counts = {3, 0, 2, 4};
  const std::vector<int64_t> source_offsets = {6, 10, 0, 1};
  const std::vector<int64_t> destination_offsets = {0, 0, 9, 4};

  v1::MoveIntervalsRequest move;
  *move.mutable_source() = ToArray(KeyType::kInt64, source);
  *move.mutable_source_offsets() = Int64s(source_offsets);
  *move.mutable_destination_offsets() = Int64s(destination_offsets);
  *move.mutable_counts() = Int64s(counts);
  move.set_destination_count(12);
  EXPECT_EQ(Get<v1::MoveIntervalsResponse>(move).result().inline_data(),
            Text(Move(source, Bytes(12 * 8), 8, source_offsets, destination_offsets, counts)));

  const Bytes before = MakeKeys(KeyType::kInt64, Distribution::kUniform, 12, 13);
  *move.mutable_destination() = ToArray(KeyType::kInt64, before);
  EXPECT_EQ(Get<v1::MoveIntervalsResponse>(move).result().inline_data(),
            Text(Move(source, before, 8, source_offsets, destination_offsets, counts)));

  v1::GatherIntervalsRequest gather;
  *gather.mutable_source() = move.source();
  *gather.mutable_source_offsets() = move.source_offsets();
  *gather.mutable_counts() = move.counts();
  EXPECT_EQ(Get<v1::GatherIntervalsResponse>(gather).result().inline_data(),
            Text(Move(source, Bytes(9 * 8), 8, source_offsets, PrefixSums(counts), counts)));

  const Bytes dense = MakeKeys(KeyType::kInt64, Distribution::kUniform, 9, 14);
  v1::ScatterIntervalsRequest scatter;
  *scatter.mutable_source() = ToArray(KeyType::kInt64, dense);
  *scatter.mutable_destination_offsets() = move.destination_offsets();
  *scatter.mutable_counts() = move.counts();
  *scatter.mutable_destination() = move.destination();
  EXPECT_EQ(Get<v1::ScatterIntervalsResponse>(scatter).result().inline_data(),
            Text(Move(dense, before, 8, PrefixSums(counts), destination_offsets, counts)));
}

TEST_F(OperatorsTest, BalancesLoad) {
  const std::vector<int64_t> counts = {0, 3, 0, 0, 1, 60, 0};
  v1::LoadBalanceRequest request;
  *request.mutable_counts() = Int64s(counts);
  const auto response = Get<v1::LoadBalanceResponse>(request);
  const auto [objects, ranks] = LoadBalance(counts);
  EXPECT_EQ(response.objects().inline_data(), Indices(objects));
  EXPECT_EQ(response.ranks().inline_data(), Indices(ranks));
  EXPECT_EQ(response.ranks().type(), v1::ELEMENT_TYPE_UINT32);
}

TEST_F(OperatorsTest, SearchesBothBounds) {
  const Bytes haystack = MakeKeys(KeyType::kUint8, Distribution::kSorted, 1000, 15);
  const Bytes needles = MakeKeys(KeyType::kUint8, Distribution::kUniform, 300, 16);
  v1::SearchRequest request;
  *request.mutable_haystack() = ToArray(KeyType::kUint8, haystack);
  *request.mutable_needles() = ToArray(KeyType::kUint8, needles);
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(),
            Indices(Bounds(KeyType::kUint8, Order::kAscending, haystack, needles, SearchBound::kLower)));
  request.set_bound(v1::SEARCH_BOUND_UPPER);
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(),
            Indices(Bounds(KeyType::kUint8, Order::kAscending, haystack, needles, SearchBound::kUpper)));
}

TEST_F(OperatorsTest, SearchesByColumns) {
  // The haystack: (1, "a", 12.1), (2, "bcd", 48.6), (2, "", 48.6), with strings in descending order. The needles:
  // (2, "", 195.3) and (2, "b", 195.3).
  v1::SearchRequest request = GoodColumnSearch();
  auto response = Get<v1::SearchResponse>(request);
  EXPECT_EQ(response.positions().inline_data(), Indices({3, 2}));
  EXPECT_EQ(response.positions().type(), v1::ELEMENT_TYPE_UINT32);
  // Both needles equal the last row. A null comes after it, and with nulls first before all rows.
  *request.mutable_needle_columns(1)->mutable_offsets() = Int64s({0, 0, 0});
  request.mutable_needle_columns(1)->mutable_data()->clear_inline_data();
  request.mutable_needle_columns(2)->mutable_data()->set_inline_data("BBBBBBBB");
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(), Indices({2, 2}));
  request.set_bound(v1::SEARCH_BOUND_UPPER);
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(), Indices({3, 3}));
  const uint8_t second_is_null[] = {1};
  *request.mutable_needle_columns(0)->mutable_validity() = MakeArray(v1::ELEMENT_TYPE_UINT8, second_is_null, 1);
  request.set_bound(v1::SEARCH_BOUND_LOWER);
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(), Indices({2, 3}));
  request.mutable_haystack_columns(0)->set_nulls(v1::NULL_ORDER_FIRST);
  EXPECT_EQ(Get<v1::SearchResponse>(request).positions().inline_data(), Indices({2, 0}));

  *request.mutable_haystack_columns(0)->mutable_data() = Int32s({1, 3, 2});
  grpc::ClientContext context;
  const grpc::Status refused = Call(running_->stub(), &context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("haystack_columns: not sorted by its columns: row 2 comes before row 1"));
}

TEST_F(OperatorsTest, EveryOperatorTakesEmptyArrays) {
  v1::Array empty;
  empty.set_type(v1::ELEMENT_TYPE_INT64);
  v1::MergeRequest merge;
  *merge.add_keys() = *merge.add_keys() = empty;
  EXPECT_EQ(Get<v1::MergeResponse>(merge).keys().count(), 0);
  v1::ExpandIntervalsRequest expand;
  *expand.mutable_values() = *expand.mutable_counts() = empty;
  EXPECT_EQ(Get<v1::ExpandIntervalsResponse>(expand).values().count(), 0);
  v1::MoveIntervalsRequest move;
  *move.mutable_source() = *move.mutable_counts() = empty;
  *move.mutable_source_offsets() = *move.mutable_destination_offsets() = empty;
  move.set_destination_count(2);
  EXPECT_EQ(Get<v1::MoveIntervalsResponse>(move).result().inline_data(), std::string(16, '\0'));
  v1::GatherIntervalsRequest gather;
  *gather.mutable_source() = *gather.mutable_counts() = *gather.mutable_source_offsets() = empty;
  EXPECT_EQ(Get<v1::GatherIntervalsResponse>(gather).result().count(), 0);
  v1::ScatterIntervalsRequest scatter;
  *scatter.mutable_source() = *scatter.mutable_counts() = *scatter.mutable_destination_offsets() = empty;
  scatter.set_destination_count(0);
  EXPECT_EQ(Get<v1::ScatterIntervalsResponse>(scatter).result().count(), 0);
  v1::LoadBalanceRequest balance;
  *balance.mutable_counts() = empty;
  EXPECT_EQ(Get<v1::LoadBalanceResponse>(balance).objects().count(), 0);
  v1::SearchRequest search;
  *search.mutable_haystack() = empty;
  *search.mutable_needles() = Int64s({5});
  EXPECT_EQ(Get<v1::SearchResponse>(search).positions().inline_data(), Indices({0}));
}

TEST_F(OperatorsTest, RequestIdsComeBackInTrailingMetadata) {
  v1::SortRequest request;
  *request.mutable_keys() = Int64s({1});
  for (const std::string id : {"", "a request"}) {
    request.mutable_options()->set_request_id(id);
    grpc::ClientContext context;
    v1::SortResponse response;
    ASSERT_TRUE(running_->stub().Sort(&context, request, &response).ok());
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find("x-request-id");
    ASSERT_NE(found, metadata.end());
    const std::string returned(found->second.data(), found->second.size());
    if (id.empty()) {
      EXPECT_EQ(returned.size(), 16U);
    } else {
      EXPECT_EQ(returned, id);
    }
  }
}

TEST_F(OperatorsTest, SaysWhatItIs) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(running_->stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
  EXPECT_EQ(info.version(), Version());
  EXPECT_EQ(info.engine(), v1::ENGINE_CPU);
  EXPECT_THAT(info.engine_reason(), HasSubstr("--engine=cpu"));
  EXPECT_EQ(info.lanes(), 1);
  EXPECT_EQ(info.limits().max_request_bytes(), 256 << 20);
  EXPECT_EQ(info.limits().max_merge_inputs(), 1024);
  EXPECT_THAT(info.places(), ::testing::ElementsAre("inline", "stream"));
}

TEST(ServerInfo, CudaIpcIsNoPlaceOfTheCpuEngine) {
  Server::Options options = TestOptions();
  options.regions.cuda_ipc = true;
  RunningServer running(options);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(running.stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
  EXPECT_THAT(info.places(), ::testing::ElementsAre("inline", "stream"));
}

TEST_F(OperatorsTest, AnswersHealthChecksForTheServerAndTheService) {
  for (const char* service : {"", "corank.v1.CorankService"}) {
    RawStream check(running_->channel(), "/grpc.health.v1.Health/Check", HealthRequest(service));
    EXPECT_EQ(check.Read(), kServing) << service;
  }
}

TEST_F(OperatorsTest, ReflectionListsItsServices) {
  const std::string list_services("\x3a\x00", 2);  // of ServerReflectionRequest, empty
  for (const char* version : {"v1", "v1alpha"}) {
    RawStream reflection(running_->channel(),
                         absl::StrCat("/grpc.reflection.", version, ".ServerReflection/ServerReflectionInfo"),
                         list_services);
    const std::string answer = reflection.Read().value_or("nothing");
    for (const char* service : {"corank.v1.CorankService", "corank.v1.MemoryService", "grpc.health.v1.Health"}) {
      EXPECT_THAT(answer, HasSubstr(service)) << version;
    }
  }
}

TEST_F(OperatorsTest, PlacesThatAreOffSayHowToSwitchThemOn) {
  const auto memory = v1::MemoryService::NewStub(running_->channel());
  const auto expect_refused = [](const grpc::Status& status, const char* flag) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr(flag));
  };
  const auto unary = [&](auto method, auto request, auto response, const char* flag) {
    grpc::ClientContext context;
    expect_refused((memory.get()->*method)(&context, request, &response), flag);
  };
  using Stub = v1::MemoryService::Stub;
  unary(&Stub::RegisterSharedMemory, v1::RegisterSharedMemoryRequest(), v1::RegisterSharedMemoryResponse(),
        "--shared-memory");
  unary(&Stub::RegisterCudaIpc, v1::RegisterCudaIpcRequest(), v1::RegisterCudaIpcResponse(), "--cuda-ipc");
  unary(&Stub::ListArrays, v1::ListArraysRequest(), v1::ListArraysResponse(), "--kept-bytes");
  unary(&Stub::DeleteArray, v1::DeleteArrayRequest(), v1::DeleteArrayResponse(), "--kept-bytes");
  grpc::ClientContext store_context, fetch_context;
  v1::StoreArrayResponse stored;
  expect_refused(memory->StoreArray(&store_context, &stored)->Finish(), "--kept-bytes");
  expect_refused(memory->FetchArray(&fetch_context, v1::FetchArrayRequest())->Finish(), "--kept-bytes");
}

}  // namespace
}  // namespace corank::testing
