// The operators whose number of results is not that of their inputs, through the client library, on the real server.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corank/client.h"
#include "corank/errors.h"
#include "tests/client/server_fixture.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;

TEST_P(ClientOnServer, TakesTheFirstOfEachSegment) {
  const std::vector<int32_t> keys = {3, 1, 2, 9, 8, -1};
  const std::vector<int64_t> offsets = {0, 3, 3, 5, 6};
  SortOptions options;
  options.segment_offsets = offsets;
  options.limit = 2;
  options.order = Order::kDescending;
  const auto sorted = client_.Sort(keys, options);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(3, 2, 9, 8, -1));
  EXPECT_THAT(LimitedSegments(offsets, 2), ElementsAre(0, 2, 2, 4, 5));
  EXPECT_THAT(LimitedSegments({}, 2), ElementsAre(0));
  const auto indices = client_.Argsort(keys, options);
  ASSERT_TRUE(indices.ok()) << indices.status();
  EXPECT_THAT(indices->indices, ElementsAre(0, 2, 3, 4, 5));

  std::vector<int32_t> exactly(5);
  SortRequest request;
  request.keys = ViewOf(keys);
  request.segment_offsets = offsets;
  request.limit = 2;
  request.order = Order::kDescending;
  request.keys_output = Into(exactly);
  ASSERT_TRUE(client_.Sort(request).ok());
  EXPECT_EQ(exactly, sorted->keys);

  PackedStrings names;
  for (const char* name : {"pear", "apple", "fig", "plum", "date", ""}) names.Add(name);
  ColumnSortRequest rows;
  rows.columns = {names.view()};
  rows.segment_offsets = offsets;
  rows.limit = 1;
  const auto first = client_.SortColumns(rows);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(*first->columns[0].Strings(), ElementsAre("apple", "date", ""));
}

TEST_P(ClientOnServer, FindsGroups) {
  const std::vector<uint16_t> keys = {7, 5, 7, 7, 9};
  const std::vector<float> values = {1.5F, 2, 3, -4, 8};
  const auto grouped = client_.GroupValues(keys, values);
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  EXPECT_THAT(grouped->keys, ElementsAre(5, 7, 9));
  EXPECT_THAT(grouped->counts, ElementsAre(1, 3, 1));
  EXPECT_THAT(grouped->sums, ElementsAre(2.0, 0.5, 8.0));
  EXPECT_THAT(grouped->minima, ElementsAre(2, -4, 8));
  EXPECT_THAT(grouped->maxima, ElementsAre(2, 3, 8));
  GroupOptions options;
  options.input = GroupInput::kRuns;
  const auto runs = client_.Group(keys, options);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(runs->keys, ElementsAre(7, 5, 7, 9));
  EXPECT_THAT(runs->counts, ElementsAre(1, 1, 2, 1));

  GroupRequest request;
  request.keys = ViewOf(keys);
  request.order = Order::kDescending;
  request.wants.counts = false;
  request.wants.firsts = true;
  std::vector<uint16_t> distinct(keys.size());
  request.keys_output = Into(distinct);
  const auto raw = client_.Group(request);
  ASSERT_TRUE(raw.ok()) << raw.status();
  ASSERT_EQ(raw->keys->count(), 3);
  EXPECT_THAT(absl::MakeSpan(distinct).first(3), ElementsAre(9, 7, 5));
  EXPECT_FALSE(raw->counts.has_value());
  EXPECT_THAT(*ToIndices(*raw->firsts), ElementsAre(4, 0, 1));
  const std::vector<int32_t> values_of_keys = {1, 2, 4, 8, 16};
  PackedValidity validity;
  for (const bool is_valid : {false, true, true, false, false}) validity.Add(is_valid);
  request.wants = {};
  request.wants.sums = request.wants.value_counts = true;
  request.keys_output = {};
  request.values = ViewOf(values_of_keys);
  request.values_validity = ViewOf(validity.bytes);
  const auto nullable = client_.Group(request);
  ASSERT_TRUE(nullable.ok()) << nullable.status();
  EXPECT_THAT(*ToVector<int64_t>(*nullable->sums), ElementsAre(0, 4, 2));
  EXPECT_THAT(*ToVector<int64_t>(*nullable->value_counts), ElementsAre(0, 1, 1));
  options.input = GroupInput::kSorted;
  EXPECT_EQ(ViolatedField(client_.Group(keys, options).status()), "keys");
}

TEST_P(ClientOnServer, JoinsAndAsksAgainForMoreRows) {
  const std::vector<int16_t> left = {7, 1, 7, 7}, right = {7, 9, 7, 7};
  const auto inner = client_.Join(JoinKind::kInner, left, right);
  ASSERT_TRUE(inner.ok()) << inner.status();  // 9 rows, more than both sides together
  EXPECT_THAT(inner->left_rows, ElementsAre(0, 0, 0, 2, 2, 2, 3, 3, 3));
  EXPECT_THAT(inner->right_rows, ElementsAre(0, 2, 3, 0, 2, 3, 0, 2, 3));
  const auto anti = client_.Join(JoinKind::kAnti, left, right);
  EXPECT_THAT(anti->left_rows, ElementsAre(1));
  EXPECT_TRUE(anti->right_rows.empty());
  EXPECT_EQ(client_.CountJoin(JoinKind::kFull, left, right)->count, 11);

  JoinOptions options;
  options.max_rows = 8;
  const absl::Status refused = client_.Join(JoinKind::kInner, left, right, options).status();
  EXPECT_EQ(ErrorReason(refused), "TOO_MANY_ROWS");
  EXPECT_EQ(ViolatedField(refused), "max_rows");
  EXPECT_EQ(NeededRows(refused), 9);
  options.right_sorted = true;
  EXPECT_EQ(ViolatedField(client_.Join(JoinKind::kSemi, left, right, options).status()), "right");

  // The caller's memory is the room.
  std::vector<int32_t> rows(8);
  JoinRequest request{{}, JoinKind::kInner, ViewOf(left), ViewOf(right)};
  request.left_rows_output = Into(rows);
  EXPECT_EQ(NeededRows(client_.Join(request).status()), 9);
  request.max_rows = 8;
  request.right = ViewOf(left);
  request.kind = JoinKind::kSemi;
  ASSERT_TRUE(client_.Join(request).ok());
  EXPECT_THAT(std::vector<int32_t>(rows.begin(), rows.begin() + 4), ElementsAre(0, 1, 2, 3));
}

TEST_P(ClientOnServer, SelectsRemovesAndPartitions) {
  const std::vector<int16_t> elements = {7, 1, 4, 9};
  const std::vector<uint8_t> flags = {0, 1, 0, 3};
  EXPECT_THAT(client_.Select(elements, flags)->elements, ElementsAre(1, 9));
  EXPECT_THAT(client_.Remove(elements, {3, 0, 3})->elements, ElementsAre(1, 4));
  EXPECT_THAT(client_.SelectWhere(elements, Comparison::kGreaterOrEqual, 7)->elements, ElementsAre(7, 9));
  const auto partitioned = client_.Partition(elements, flags);
  ASSERT_TRUE(partitioned.ok()) << partitioned.status();
  EXPECT_THAT(partitioned->elements, ElementsAre(1, 9, 7, 4));
  EXPECT_EQ(partitioned->selected, 2);
  EXPECT_EQ(ViolatedField(client_.Remove(elements, {0, 4}).status()), "positions[1]");

  std::vector<int16_t> room(4);
  const std::vector<uint8_t> bits = {0b1011};
  SelectRequest request{ViewOf(elements)};
  request.values = ViewOf(flags);
  request.bitmap = ViewOf(bits);
  request.wants.indices = request.wants.count = true;
  request.elements_output = Into(room);
  const auto raw = client_.Select(request);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(raw->elements->placed, 3);
  EXPECT_THAT(room, ElementsAre(7, 1, 9, 0));
  EXPECT_THAT(*ToVector<uint8_t>(*raw->values), ElementsAre(0, 1, 3));
  EXPECT_THAT(*ToIndices(*raw->indices), ElementsAre(0, 1, 3));
  EXPECT_THAT(*ToVector<int64_t>(*raw->count), ElementsAre(3));
  request.positions = ViewOf(std::vector<int64_t>());
  EXPECT_EQ(ViolatedField(client_.Select(request).status()), "flags");
}

TEST_P(ClientOnServer, InsertsBeforeManyPositions) {
  const std::vector<int16_t> elements = {1, 2, 3}, inserted = {10, 20, 30, 40, 50};
  EXPECT_THAT(client_.Insert(elements, {3, 0, 1, 3, 0}, inserted)->elements, ElementsAre(20, 50, 1, 30, 2, 3, 10, 40));
  EXPECT_THAT(client_.Insert(elements, {}, std::vector<int16_t>())->elements, ElementsAre(1, 2, 3));
  EXPECT_THAT(client_.Insert(std::vector<int16_t>(), {0, 0}, std::vector<int16_t>{7, 8})->elements, ElementsAre(7, 8));
  EXPECT_THAT(client_.Insert(elements, {0, 4}, std::vector<int16_t>{7, 8}).status().message(),
              ::testing::HasSubstr("positions[1]"));
  EXPECT_EQ(ViolatedField(client_.Insert(elements, {0, 4}, std::vector<int16_t>{7, 8}).status()), "positions[1]");
  EXPECT_EQ(ViolatedField(client_.Insert(elements, {0}, inserted).status()), "positions");
}

TEST_P(ClientOnServer, RanksKeys) {
  const std::vector<int16_t> keys = {7, 1, 7, 9};
  EXPECT_THAT(client_.AverageRank(keys)->elements, ElementsAre(2.5, 1, 2.5, 4));
  EXPECT_THAT(client_.Rank(keys, {RankMethod::kMin})->indices, ElementsAre(2, 1, 2, 4));
  EXPECT_THAT(client_.Rank(keys, {RankMethod::kMax, Order::kDescending})->indices, ElementsAre(3, 4, 3, 1));
  EXPECT_THAT(client_.Rank(keys, {RankMethod::kDense})->indices, ElementsAre(2, 1, 2, 3));
  EXPECT_THAT(client_.Rank(keys, {RankMethod::kOrdinal})->indices, ElementsAre(2, 1, 3, 4));
  EXPECT_FALSE(client_.Rank(keys, RankOptions()).ok());
  const std::vector<int64_t> offsets = {0, 2, 2, 4};
  RankOptions by_segments;
  by_segments.method = RankMethod::kDense;
  by_segments.segment_offsets = offsets;
  EXPECT_THAT(client_.Rank(keys, by_segments)->indices, ElementsAre(2, 1, 1, 2));
  EXPECT_THAT(client_.AverageRank(keys, by_segments)->elements, ElementsAre(2, 1, 1, 2));
  by_segments.segment_offsets = absl::MakeConstSpan(offsets).first(2);
  EXPECT_EQ(ViolatedField(client_.Rank(keys, by_segments).status()), "segment_offsets[1]");
  RankOptions sorted;
  sorted.method = RankMethod::kDense;
  sorted.keys_sorted = true;
  EXPECT_EQ(ViolatedField(client_.Rank(keys, sorted).status()), "keys");
}

TEST_P(ClientOnServer, CombinesSets) {
  const std::vector<int16_t> left = {1, 3, 3, 7}, right = {3, 4, 7, 7};
  const auto united = client_.CombineSets(SetOperation::kUnion, left, right);
  ASSERT_TRUE(united.ok()) << united.status();
  EXPECT_THAT(united->keys, ElementsAre(1, 3, 3, 4, 7, 7));
  EXPECT_THAT(client_.CombineSets(SetOperation::kDifference, left, right)->keys, ElementsAre(1, 3));
  EXPECT_EQ(client_.CountSets(SetOperation::kIntersection, left, right)->count, 2);

  const std::vector<float> left_values = {1, 2, 3, 4}, right_values = {5, 6, 7, 8};
  CombineSetsRequest request{SetOperation::kUnion, Order::kAscending, ViewOf(left), ViewOf(right)};
  request.left_values = ViewOf(left_values);
  EXPECT_EQ(ViolatedField(client_.CombineSets(request).status()), "right_values");
  request.right_values = ViewOf(right_values);
  EXPECT_THAT(*ToVector<float>(*client_.CombineSets(request)->values), ElementsAre(1, 2, 3, 6, 4, 8));
}

TEST_P(ClientOnServer, LargeGroupsTravelAsOthersDo) {
  std::vector<uint32_t> keys(3'000'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i * 2654435761U % 1000);
  const auto grouped = client_.Group(keys);
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  ASSERT_EQ(grouped->keys.size(), 1000U);
  for (uint32_t key = 0; key < 1000; ++key) {
    ASSERT_EQ(grouped->keys[key], key);
    ASSERT_EQ(grouped->counts[key], std::count(keys.begin(), keys.end(), key));
  }
}

TEST_P(ClientOnServer, AChainGoesOnWithGroups) {
  const std::vector<uint16_t> keys = {3, 1, 3, 2, 3, 2};
  GroupRequest group;
  group.keys = ViewOf(keys);
  group.keys_output = Temporary("keys");
  group.counts_output = Temporary("counts");
  SortRequest sort;  // the keys by how frequent they are
  sort.keys = TemporaryViewUpTo("counts", KeyType::kInt64, 6);
  sort.values = TemporaryViewUpTo("keys", KeyType::kUint16, 6);
  sort.order = Order::kDescending;
  MergeRequest merge;
  merge.keys = {*sort.values, *sort.values};
  const auto results = client_.Run({group, sort, merge});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].placed, 3);
  EXPECT_THAT(*ToVector<int64_t>((*results)[1].arrays[0]), ElementsAre(3, 2, 1));
  EXPECT_THAT(*ToVector<uint16_t>((*results)[1].arrays[1]), ElementsAre(3, 2, 1));
  EXPECT_THAT(*ToVector<uint16_t>((*results)[2].arrays[0]), ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST_P(ClientOnServer, AChainGoesOnWithCombinedSets) {
  const std::vector<uint16_t> left = {1, 3, 3, 7}, right = {3, 4, 7, 7};
  const std::vector<float> left_values = {1, 2, 3, 4}, right_values = {5, 6, 7, 8};
  CombineSetsRequest united{SetOperation::kUnion, Order::kAscending, ViewOf(left), ViewOf(right)};
  united.left_values = ViewOf(left_values);
  united.right_values = ViewOf(right_values);
  united.keys_output = Temporary("keys");
  united.values_output = Temporary("values");
  CombineSetsRequest rest{SetOperation::kDifference, Order::kAscending, TemporaryViewUpTo("keys", KeyType::kUint16, 8),
                          ViewOf(right)};
  rest.left_values = TemporaryViewUpTo("values", KeyType::kFloat32, 8);
  CombineSetsRequest shared{SetOperation::kIntersection, Order::kAscending, ViewOf(left), rest.left};
  shared.count_only = true;
  const auto results = client_.Run({united, rest, shared});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].placed, 6);
  EXPECT_THAT(*ToVector<uint16_t>((*results)[1].arrays[0]), ElementsAre(1, 3));
  EXPECT_THAT(*ToVector<float>((*results)[1].arrays[1]), ElementsAre(1, 3));
  EXPECT_THAT(*ToVector<int64_t>((*results)[2].arrays[0]), ElementsAre(4));
}

TEST_P(ClientOnServer, AChainGoesOnWithJoinedRows) {
  const std::vector<uint16_t> left = {3, 1, 7, 3}, right = {7, 3, 9, 3};
  JoinRequest full;
  full.kind = JoinKind::kFull;
  full.left = ViewOf(left);
  full.right = ViewOf(right);
  full.left_rows_output = Temporary("left_rows");
  JoinRequest again;
  again.kind = JoinKind::kSemi;
  again.left = TemporaryViewUpTo("left_rows", KeyType::kInt32, 8);
  const std::vector<int32_t> wanted = {-1, 3};
  again.right = ViewOf(wanted);
  JoinRequest count = again;
  count.kind = JoinKind::kAnti;
  count.count_only = true;
  const auto results = client_.Run({full, again, count});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].placed, 7);
  EXPECT_THAT(*ToVector<int32_t>((*results)[0].arrays[1]), ElementsAre(1, 3, -1, 0, 1, 3, 2));
  EXPECT_THAT(*ToVector<int32_t>((*results)[1].arrays[0]), ElementsAre(4, 5, 6));
  EXPECT_THAT(*ToVector<int64_t>((*results)[2].arrays[0]), ElementsAre(4));
}

TEST_P(ClientOnServer, AChainGoesOnWithSelectedElements) {
  const std::vector<uint16_t> keys = {3, 9, 7, 3, 8};
  const std::vector<uint16_t> three = {3};
  SelectRequest high;
  high.elements = ViewOf(keys);
  high.threshold = ViewOf(three);
  high.comparison = Comparison::kGreater;
  high.elements_output = Temporary("high");
  RankRequest ranks;
  ranks.keys = TemporaryViewUpTo("high", KeyType::kUint16, 5);
  ranks.method = RankMethod::kDense;
  SelectRequest rest;
  rest.elements = ranks.keys;
  const std::vector<int64_t> second = {1};
  rest.positions = ViewOf(second);
  rest.negate = rest.partition = rest.wants.count = true;
  const auto results = client_.Run({high, ranks, rest});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].placed, 3);
  EXPECT_THAT(*ToIndices((*results)[1].arrays[0]), ElementsAre(3, 1, 2));
  EXPECT_THAT(*ToVector<uint16_t>((*results)[2].arrays[0]), ElementsAre(9, 8, 7));
  EXPECT_THAT(*ToVector<int64_t>((*results)[2].arrays[1]), ElementsAre(2));
}

TEST_P(ClientOnServer, AChainWithTooManyRowsFails) {
  const std::vector<uint16_t> many(50, 7);
  JoinRequest join;
  join.left = join.right = ViewOf(many);
  EXPECT_EQ(NeededRows(client_.Run({join}).status()), 2500);
  join.max_rows = 2500;
  const auto results = client_.Run({join});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].count(), 2500);
}

}  // namespace
}  // namespace corank::client
