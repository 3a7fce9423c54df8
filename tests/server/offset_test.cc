// Sort with an offset through the whole server, over loopback, on the CPU engine, compared with plain std:: code.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/server/operators_fixture.h"

namespace corank::testing {
namespace {

TEST_F(OperatorsTest, LeavesOutTheFirstOfTheOrder) {
  const Bytes keys = MakeKeys(KeyType::kFloat32, Distribution::kSixteenDistinct, 100, 8), values = MakeBytes(300, 9);
  const std::vector<int64_t> order = StableOrder(KeyType::kFloat32, Order::kAscending, keys);
  for (const int64_t offset :
       {int64_t{0}, int64_t{1}, int64_t{99}, int64_t{100}, std::numeric_limits<int64_t>::max()}) {
    for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{1}, std::numeric_limits<int64_t>::max()}) {
      v1::SortRequest request;
      *request.mutable_keys() = ToArray(KeyType::kFloat32, keys);
      *request.mutable_values() = ToRecords(3, values);
      request.set_offset(offset);
      if (limit >= 0) request.set_limit(limit);
      const auto response = Get<v1::SortResponse>(request);
      const std::vector<int64_t> expected = FirstOfOrder(order, limit, {}, offset);
      EXPECT_EQ(response.keys().count(), static_cast<int64_t>(expected.size())) << offset << ", " << limit;
      EXPECT_EQ(response.keys().inline_data(), Text(Gather(keys, 4, expected))) << offset << ", " << limit;
      EXPECT_EQ(response.values().inline_data(), Text(Gather(values, 3, expected))) << offset << ", " << limit;
    }
  }
}

TEST_F(OperatorsTest, LeavesOutTheFirstRowsOfTheOrder) {
  v1::SortRequest request;
  v1::KeyColumn& column = *request.add_key_columns();
  *column.mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, "figappleplumpear", 16);
  *column.mutable_offsets() = Int64s({0, 3, 8, 12, 16});
  *column.mutable_validity() = MakeArray(v1::ELEMENT_TYPE_UINT8, "\x0d", 1);  // row 1 is null
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  request.set_offset(1);
  auto response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({3, 2, 1}));
  EXPECT_EQ(response.key_columns(0).data().inline_data(), "pearplumapple");
  EXPECT_EQ(response.key_columns(0).offsets().inline_data(), Int64s({0, 4, 8, 13}).inline_data());
  EXPECT_EQ(response.key_columns(0).validity().inline_data(), "\x03");
  request.set_limit(1);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().inline_data(), Indices({3}));
  EXPECT_EQ(response.key_columns(0).data().inline_data(), "pear");
  request.set_offset(4);
  response = Get<v1::SortResponse>(request);
  EXPECT_EQ(response.indices().count(), 0);
  EXPECT_EQ(response.key_columns(0).offsets().inline_data(), Int64s({0}).inline_data());
}

}  // namespace
}  // namespace corank::testing
