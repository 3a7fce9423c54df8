// The operators whose number of results only the run finds, through the whole server, compared with plain std:: code.
#include <gmock/gmock.h>

#include <limits>
#include <numeric>
#include <utility>

#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/sets.h"
#include "tests/server/operators_fixture.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(OperatorsTest, GroupsKeysAndValuesOfEveryType) {
  constexpr v1::GroupOutput kOutputs[] = {
      v1::GROUP_OUTPUT_KEYS,   v1::GROUP_OUTPUT_COUNTS, v1::GROUP_OUTPUT_FIRSTS,      v1::GROUP_OUTPUT_SUMS,
      v1::GROUP_OUTPUT_MINIMA, v1::GROUP_OUTPUT_MAXIMA, v1::GROUP_OUTPUT_VALUE_COUNTS};
  uint64_t seed = 40;
  for (const KeyType type : kAllKeyTypes) {
    for (const v1::GroupInput input : {v1::GROUP_INPUT_UNSORTED, v1::GROUP_INPUT_SORTED, v1::GROUP_INPUT_RUNS}) {
      for (const int64_t count : {0, 1, 1000}) {
        SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " x " << count << ", " << v1::GroupInput_Name(input)
                                          << ", seed " << ++seed);
        const bool is_float = IsFloat(type);
        Bytes keys =
            MakeKeys(type, is_float ? Distribution::kSpecialFloats : Distribution::kSixteenDistinct, count, seed);
        // Sums of any 64-bit integers would not fit.
        const KeyType value_type = !is_float && KeyBytes(type) == 8 ? KeyType::kUint32 : type;
        const Bytes values = MakeKeys(value_type, Distribution::kSixteenDistinct, count, seed + 100);
        const Order order = seed % 2 == 0 && input != v1::GROUP_INPUT_RUNS ? Order::kDescending : Order::kAscending;
        std::vector<int64_t> sorted = StableOrder(type, order, keys);
        if (input != v1::GROUP_INPUT_UNSORTED) {
          if (input == v1::GROUP_INPUT_SORTED) keys = Gather(keys, KeyBytes(type), sorted);
          std::iota(sorted.begin(), sorted.end(), 0);
        }
        const Bytes grouped = Gather(keys, KeyBytes(type), sorted);
        const std::vector<int64_t> starts = GroupStarts(type, grouped);
        std::vector<int64_t> counts, firsts;
        for (size_t i = 0; i < starts.size(); ++i) {
          counts.push_back((i + 1 < starts.size() ? starts[i + 1] : count) - starts[i]);
          firsts.push_back(sorted[static_cast<size_t>(starts[i])]);
        }
        std::vector<bool> valid, valid_in_order;
        for (int64_t i = 0; i < count; ++i) valid.push_back(seed % 3 == 0 || (i * 7 + count) % 5 != 0);
        for (const int64_t from : sorted) valid_in_order.push_back(valid[static_cast<size_t>(from)]);
        const GroupReductions reductions =
            ReduceGroups(value_type, Gather(values, KeyBytes(value_type), sorted), starts, valid_in_order);
        ASSERT_EQ(reductions.overflow, -1);

        // With first positions, a permutation finds the values; without, the values travel with the keys.
        for (const bool with_firsts : {true, false}) {
          v1::GroupRequest request;
          *request.mutable_keys() = ToArray(type, keys);
          *request.mutable_values() = ToArray(value_type, values);
          // Without nulls, the bitmap may be left out.
          if (seed % 3 != 0) *request.mutable_values_validity() = ToArray(KeyType::kUint8, Bitmap(valid, true));
          request.set_input(input);
          if (order == Order::kDescending) request.set_order(v1::SORT_ORDER_DESCENDING);
          for (const v1::GroupOutput output : kOutputs) {
            if (with_firsts || output != v1::GROUP_OUTPUT_FIRSTS) request.add_outputs(output);
          }
          const auto response = Get<v1::GroupResponse>(request);
          const auto groups = static_cast<int64_t>(starts.size());
          EXPECT_EQ(response.keys().inline_data(), Text(Gather(grouped, KeyBytes(type), starts)));
          EXPECT_EQ(response.keys().type(), static_cast<v1::ElementType>(type));
          EXPECT_EQ(response.keys().count(), groups);
          EXPECT_EQ(response.counts().inline_data(), Text(IndexArray(counts, 8)));
          EXPECT_EQ(response.counts().type(), v1::ELEMENT_TYPE_INT64);
          EXPECT_EQ(response.has_firsts(), with_firsts);
          if (with_firsts) {
            EXPECT_EQ(response.firsts().inline_data(), Indices(firsts));
            EXPECT_EQ(response.firsts().type(), v1::ELEMENT_TYPE_UINT32);
          }
          EXPECT_EQ(response.sums().inline_data(), Text(reductions.sums));
          EXPECT_EQ(response.sums().type(), static_cast<v1::ElementType>(SumType(value_type)));
          EXPECT_EQ(response.minima().inline_data(), Text(reductions.minima));
          EXPECT_EQ(response.minima().type(), static_cast<v1::ElementType>(value_type));
          EXPECT_EQ(response.maxima().inline_data(), Text(reductions.maxima));
          EXPECT_EQ(response.maxima().count(), groups);
          EXPECT_EQ(response.value_counts().inline_data(), Text(reductions.value_counts));
          EXPECT_EQ(response.value_counts().type(), v1::ELEMENT_TYPE_INT64);
        }
      }
    }
  }
}

TEST_F(OperatorsTest, ReturnsKeysAndCountsUnlessGroupIsAskedForOthers) {
  v1::GroupRequest request;
  *request.mutable_keys() = Int32s({3, 1, 3, 2, 1});
  auto response = Get<v1::GroupResponse>(request);
  EXPECT_EQ(response.keys().inline_data(), Int32s({1, 2, 3}).inline_data());
  EXPECT_EQ(response.counts().inline_data(), Int64s({2, 1, 2}).inline_data());
  EXPECT_FALSE(response.has_firsts() || response.has_sums() || response.has_minima() || response.has_maxima());

  request.add_outputs(v1::GROUP_OUTPUT_FIRSTS);
  response = Get<v1::GroupResponse>(request);
  EXPECT_FALSE(response.has_keys() || response.has_counts());
  EXPECT_EQ(response.firsts().inline_data(), Indices({1, 3, 0}));
}

TEST_F(OperatorsTest, SaysWhichSumDoesNotFit) {
  v1::GroupRequest request;
  *request.mutable_keys() = Int32s({5, 4, 5});
  *request.mutable_values() = Int64s({std::numeric_limits<int64_t>::max(), 7, 1});
  request.add_outputs(v1::GROUP_OUTPUT_SUMS);
  grpc::ClientContext context;
  v1::GroupResponse response;
  const grpc::Status status = Call(running_->stub(), &context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "values");
  EXPECT_THAT(status.error_message(), HasSubstr("group 1"));
  request.set_outputs(0, v1::GROUP_OUTPUT_MAXIMA);
  EXPECT_EQ(Get<v1::GroupResponse>(request).maxima().inline_data(),
            Int64s({7, std::numeric_limits<int64_t>::max()}).inline_data());
}

TEST_F(OperatorsTest, CombinesSetsOfEveryType) {
  uint64_t seed = 70;
  for (const KeyType type : kAllKeyTypes) {
    for (const auto& [left_count, right_count] : {std::pair<int64_t, int64_t>(0, 0), {0, 3}, {500, 400}}) {
      for (int operation = v1::SET_OPERATION_UNION; operation <= v1::SET_OPERATION_SYMMETRIC_DIFFERENCE; ++operation) {
        SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " x " << left_count << ", " << right_count
                                          << ", operation " << operation << ", seed " << ++seed);
        const Order order = seed % 2 == 0 ? Order::kDescending : Order::kAscending;
        const auto sorted = [&](int64_t count, uint64_t key_seed) {
          const Distribution some = IsFloat(type) ? Distribution::kSpecialFloats : Distribution::kSixteenDistinct;
          const Bytes keys = MakeKeys(type, some, count, key_seed);
          return Gather(keys, KeyBytes(type), StableOrder(type, order, keys));
        };
        Bytes keys = sorted(left_count, seed), values = MakeKeys(KeyType::kUint16, Distribution::kUniform, 900, seed);
        const Bytes right = sorted(right_count, seed + 1000);
        const auto split = values.begin() + 2 * left_count;
        values.resize(static_cast<size_t>(2 * (left_count + right_count)));
        const std::vector<int64_t> expected = SetOrder(static_cast<SetOperation>(operation), type, order, keys, right);

        v1::CombineSetsRequest request;
        request.set_operation(static_cast<v1::SetOperation>(operation));
        if (order == Order::kDescending) request.set_order(v1::SORT_ORDER_DESCENDING);
        *request.mutable_left() = ToArray(type, keys);
        *request.mutable_right() = ToArray(type, right);
        request.set_count_only(true);
        auto response = Get<v1::CombineSetsResponse>(request);
        EXPECT_EQ(response.count().inline_data(), Int64s({static_cast<int64_t>(expected.size())}).inline_data());
        EXPECT_FALSE(response.has_keys() || response.has_values());

        request.set_count_only(false);
        *request.mutable_left_values() = ToArray(KeyType::kUint16, Bytes(values.begin(), split));
        if (!IsFromLeftOnly(static_cast<SetOperation>(operation))) {
          *request.mutable_right_values() = ToArray(KeyType::kUint16, Bytes(split, values.end()));
        }
        response = Get<v1::CombineSetsResponse>(request);
        keys.insert(keys.end(), right.begin(), right.end());
        EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, KeyBytes(type), expected)));
        EXPECT_EQ(response.keys().type(), static_cast<v1::ElementType>(type));
        EXPECT_EQ(response.values().inline_data(), Text(Gather(values, 2, expected)));
        EXPECT_FALSE(response.has_count());
      }
    }
  }
}

TEST_F(OperatorsTest, SelectsElementsByEveryPredicate) {
  uint64_t seed = 90;
  for (const KeyType type : kAllKeyTypes) {
    for (const int64_t count : {0, 1, 9, 300}) {
      for (int by = 0; by < 4; ++by) {
        SCOPED_TRACE(::testing::Message()
                     << KeyTypeName(type) << " x " << count << ", by " << by << ", seed " << ++seed);
        const Bytes elements = MakeKeys(type, Distribution::kSixteenDistinct, count, seed);
        const Bytes values = MakeKeys(KeyType::kUint16, Distribution::kUniform, count, seed + 1);
        const Bytes threshold = MakeKeys(type, Distribution::kSixteenDistinct, 1, seed);
        const auto comparison = static_cast<Comparison>(1 + seed % 6);
        std::vector<bool> holds = CompareAll(comparison, type, elements, threshold);
        v1::SelectRequest request;
        *request.mutable_elements() = ToArray(type, elements);
        std::vector<int64_t> positions, rows, others;
        for (int64_t i = 0; i < count; ++i) {
          const bool is_set = holds[static_cast<size_t>(i)];
          if (is_set) positions.insert(positions.begin(), i);
          (is_set != (seed % 2 == 0) ? rows : others).push_back(i);
        }
        if (by == 0) *request.mutable_flags() = ToArray(KeyType::kUint8, Bytes(holds.begin(), holds.end()));
        if (by == 1) *request.mutable_bitmap() = ToArray(KeyType::kUint8, Bitmap(holds, true));
        if (by == 2) *request.mutable_positions() = Int64s(positions);
        if (by == 3) {
          *request.mutable_threshold() = ToArray(type, threshold);
          request.set_comparison(static_cast<v1::Comparison>(comparison));
        }
        request.set_negate(seed % 2 == 0);
        auto response = Get<v1::SelectResponse>(request);
        EXPECT_EQ(response.elements().inline_data(),
                  ToArray(type, Gather(elements, KeyBytes(type), rows)).inline_data());
        EXPECT_EQ(response.elements().count(), static_cast<int64_t>(rows.size()));
        EXPECT_FALSE(response.has_values() || response.has_indices() || response.has_count());

        *request.mutable_values() = ToArray(KeyType::kUint16, values);
        request.add_outputs(v1::SELECT_OUTPUT_INDICES);
        request.add_outputs(v1::SELECT_OUTPUT_COUNT);
        request.set_partition(true);
        response = Get<v1::SelectResponse>(request);
        EXPECT_EQ(response.count().inline_data(), Int64s({static_cast<int64_t>(rows.size())}).inline_data());
        rows.insert(rows.end(), others.begin(), others.end());
        EXPECT_EQ(response.indices().inline_data(), Indices(rows));
        EXPECT_EQ(response.values().inline_data(), ToArray(KeyType::kUint16, Gather(values, 2, rows)).inline_data());
        EXPECT_EQ(response.values().count(), count);
        EXPECT_FALSE(response.has_elements());
      }
    }
  }
}

TEST_F(OperatorsTest, RanksKeysOfEveryTypeInEveryWay) {
  uint64_t seed = 70;
  for (const KeyType type : kAllKeyTypes) {
    for (int method = v1::RANK_METHOD_UNSPECIFIED; method <= v1::RANK_METHOD_ORDINAL; ++method) {
      for (const int64_t count : {0, 1, 300}) {
        SCOPED_TRACE(::testing::Message()
                     << KeyTypeName(type) << " x " << count << ", method " << method << ", seed " << ++seed);
        const Distribution some = IsFloat(type) ? Distribution::kSpecialFloats : Distribution::kSixteenDistinct;
        const Order order = seed % 2 == 0 ? Order::kAscending : Order::kDescending;
        Bytes keys = MakeKeys(type, some, count, seed);
        v1::RankRequest request;
        std::vector<int64_t> offsets;
        if (seed % 4 < 2) {
          offsets = CutSegments(count, 60, seed);
          *request.mutable_segment_offsets() = Int64s(offsets);
        }
        if (seed % 3 == 0) {
          keys = Gather(keys, KeyBytes(type), StableOrder(type, order, keys, offsets));
          request.set_keys_sorted(true);
        }
        *request.mutable_keys() = ToArray(type, keys);
        request.set_method(static_cast<v1::RankMethod>(method));
        if (order == Order::kDescending) request.set_order(v1::SORT_ORDER_DESCENDING);
        const auto engines = method == 0 ? RankMethod::kAverage : static_cast<RankMethod>(method);
        const Bytes expected = Ranks(engines, type, order, keys, offsets);
        const auto response = Get<v1::RankResponse>(request);
        EXPECT_EQ(response.ranks().inline_data(), std::string(expected.begin(), expected.end()));
        EXPECT_EQ(response.ranks().type(),
                  engines == RankMethod::kAverage ? v1::ELEMENT_TYPE_FLOAT64 : v1::ELEMENT_TYPE_UINT32);
        EXPECT_EQ(response.ranks().count(), count);
      }
    }
  }
}

TEST_F(OperatorsTest, JoinsSidesOfEveryTypeInEveryWay) {
  uint64_t seed = 80;
  for (const KeyType type : kAllKeyTypes) {
    for (int kind = v1::JOIN_KIND_INNER; kind <= v1::JOIN_KIND_ANTI; ++kind) {
      for (const auto& [left_count, right_count] :
           {std::pair(0, 0), std::pair(0, 9), std::pair(9, 0), std::pair(200, 90)}) {
        SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " x " << left_count << ", " << right_count
                                          << ", kind " << kind << ", seed " << ++seed);
        const Distribution some = IsFloat(type) ? Distribution::kSpecialFloats : Distribution::kSixteenDistinct;
        const Bytes left = MakeKeys(type, some, left_count, seed);
        Bytes right = MakeKeys(type, some, right_count, seed + 1000);
        v1::JoinRequest request;
        if (seed % 2 == 0) {
          right = Gather(right, KeyBytes(type), StableOrder(type, Order::kAscending, right));
          request.set_right_sorted(true);
        }
        std::vector<int64_t> left_rows, right_rows;
        for (const auto& [a, b] : JoinRows(static_cast<JoinKind>(kind), type, left, right)) {
          left_rows.push_back(a);
          right_rows.push_back(b);
        }
        const auto rows = static_cast<int64_t>(left_rows.size());
        request.set_kind(static_cast<v1::JoinKind>(kind));
        *request.mutable_left() = ToArray(type, left);
        *request.mutable_right() = ToArray(type, right);
        request.set_count_only(true);
        auto response = Get<v1::JoinResponse>(request);
        EXPECT_EQ(response.count().inline_data(), Int64s({rows}).inline_data());
        EXPECT_FALSE(response.has_left_rows() || response.has_right_rows());

        request.set_count_only(false);
        request.set_max_rows(rows);
        response = Get<v1::JoinResponse>(request);
        EXPECT_EQ(response.left_rows().inline_data(), Indices(left_rows));
        EXPECT_EQ(response.left_rows().type(), v1::ELEMENT_TYPE_INT32);
        EXPECT_EQ(response.left_rows().count(), rows);
        EXPECT_EQ(response.has_right_rows(), !IsLeftOnly(static_cast<JoinKind>(kind)));
        EXPECT_EQ(response.right_rows().inline_data(), response.has_right_rows() ? Indices(right_rows) : "");
        EXPECT_FALSE(response.has_count());
      }
    }
  }
}

TEST_F(OperatorsTest, SaysHowManyRowsAJoinHasIfThereIsNoRoom) {
  v1::JoinRequest request;
  request.set_kind(v1::JOIN_KIND_INNER);
  *request.mutable_left() = Int32s({7, 7, 7, 1});
  *request.mutable_right() = Int32s({7, 7, 7});
  for (const int64_t room : {int64_t{-1}, int64_t{8}, int64_t{0}}) {
    if (room >= 0) request.set_max_rows(room);
    grpc::ClientContext context;
    v1::JoinResponse response;
    const grpc::Status status = Call(running_->stub(), &context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadField(status), "max_rows");
    EXPECT_THAT(status.error_message(), HasSubstr("the join has 9 rows"));
  }
  request.set_max_rows(9);
  EXPECT_EQ(Get<v1::JoinResponse>(request).left_rows().count(), 9);
  request.set_max_rows(int64_t{1} << 62);  // no more room than there can be rows
  EXPECT_EQ(Get<v1::JoinResponse>(request).right_rows().count(), 9);
}

}  // namespace
}  // namespace corank::testing
