// The client library's typed calls against the real server. Compares results with plain standard algorithms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "corank/client.h"
#include "corank/errors.h"
#include "tests/client/process.h"
#include "tests/client/server_fixture.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

const ::testing::Environment* const kServer = ::testing::AddGlobalTestEnvironment(new ServerOfAllPlaces);

INSTANTIATE_TEST_SUITE_P(Places, ClientOnServer, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return way.param.name; });

template <typename T>
std::vector<T> Typed(const corank::testing::Bytes& bytes) {
  std::vector<T> typed(bytes.size() / sizeof(T));
  std::memcpy(typed.data(), bytes.data(), bytes.size());
  return typed;
}

template <typename T>
corank::testing::Bytes Untyped(const std::vector<T>& typed) {
  const auto* begin = reinterpret_cast<const uint8_t*>(typed.data());
  return corank::testing::Bytes(begin, begin + typed.size() * sizeof(T));
}

std::vector<std::pair<Way, Order>> WaysAndOrders() {
  std::vector<std::pair<Way, Order>> all;
  for (const Way& way : kWays) {
    for (const Order order : {Order::kAscending, Order::kDescending}) all.emplace_back(way, order);
  }
  return all;
}

template <typename Key>
class ClientOnServerTyped : public ::testing::Test {};
using AllKeys = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Float16,
                                 Bfloat16, float, double>;
TYPED_TEST_SUITE(ClientOnServerTyped, AllKeys);

TYPED_TEST(ClientOnServerTyped, SortsKeysAndValuesAsAStableSortDoes) {
  constexpr KeyType kType = corank::internal::KeyTraits<TypeParam>::Type();
  constexpr int64_t kCount = 1000;
  const corank::testing::Bytes bytes =
      corank::testing::MakeKeys(kType, corank::testing::Distribution::kSpecialFloats, kCount, 7);
  const std::vector<TypeParam> keys = Typed<TypeParam>(bytes);
  std::vector<std::array<char, 12>> rows(kCount);
  for (int64_t i = 0; i < kCount; ++i) std::memcpy(rows[i].data(), &i, sizeof(i));
  for (const auto& [way, order] : WaysAndOrders()) {
    SCOPED_TRACE(way.name);
    const Client client = ServerOfAllPlaces::Connect(way);
    const std::vector<int64_t> expected = corank::testing::StableOrder(kType, order, bytes);
    SortOptions options;
    options.order = order;
    const auto sorted = client.SortWithValues(keys, rows, options);
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(Untyped(sorted->keys), corank::testing::Gather(bytes, sizeof(TypeParam), expected));
    EXPECT_EQ(Untyped(sorted->values), corank::testing::Gather(Untyped(rows), 12, expected));
    const auto permutation = client.Argsort(keys, options);
    ASSERT_TRUE(permutation.ok()) << permutation.status();
    EXPECT_EQ(permutation->indices, expected);
    options.limit = 10;
    const auto first = client.Sort(keys, options);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(Untyped(first->keys),
              corank::testing::Gather(bytes, sizeof(TypeParam), {expected.begin(), expected.begin() + 10}));
    EXPECT_NE(first->algorithm, SortAlgorithm::kAuto);
    EXPECT_EQ(first->stats.engine, "cpu");
    EXPECT_FALSE(first->stats.request_id.empty());
  }
}

TEST_P(ClientOnServer, SortsSegmentsEachForItself) {
  const std::vector<int32_t> keys = {3, 1, 2, 9, 8, -1};
  const std::vector<int64_t> offsets = {0, 3, 3, 6};
  SortOptions options;
  options.segment_offsets = offsets;
  const auto sorted = client_.Sort(keys, options);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(1, 2, 3, -1, 8, 9));
}

TEST_P(ClientOnServer, MergesInputsWithValues) {
  const std::vector<std::vector<int32_t>> keys = {{1, 3, 5}, {}, {1, 2, 5}};
  const std::vector<std::vector<char>> values = {{'a', 'b', 'c'}, {}, {'d', 'e', 'f'}};
  const auto merged = client_.MergeWithValues(keys, values);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(merged->keys, ElementsAre(1, 1, 2, 3, 5, 5));
  EXPECT_THAT(merged->values, ElementsAre('a', 'd', 'e', 'b', 'c', 'f'));
  const auto alone = client_.Merge(keys);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->keys, merged->keys);
}

TEST_P(ClientOnServer, ResultsMayGoOverTheInputs) {
  std::vector<uint32_t> keys(GetParam().place == Place::kInline ? 100'000 : 4'000'000);
  std::mt19937 random(5);
  for (uint32_t& key : keys) key = random();
  std::vector<uint32_t> expected = keys;
  const auto half = static_cast<ptrdiff_t>(keys.size() / 2);
  std::sort(keys.begin(), keys.begin() + half);
  std::sort(keys.begin() + half, keys.end());
  std::sort(expected.begin(), expected.end());
  const absl::Span<uint32_t> all = absl::MakeSpan(keys);
  const auto merged = client_.MergeInto(std::vector{all.first(keys.size() / 2), all.last(keys.size() / 2)}, all);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(keys == expected);
  std::reverse(keys.begin(), keys.end());
  const auto sorted = client_.SortInto(keys, all);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_TRUE(keys == expected);
}

TEST_P(ClientOnServer, MovesIntervals) {
  const std::vector<double> source = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> from = {4, 0}, to = {0, 3}, counts = {2, 1};
  const auto moved = client_.MoveIntervals(source, from, to, counts, 5);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(moved->elements, ElementsAre(4, 5, 0, 0, 0));
  const auto onto = client_.MoveIntervals(source, from, to, counts, std::vector<double>(5, 9.0));
  ASSERT_TRUE(onto.ok()) << onto.status();
  EXPECT_THAT(onto->elements, ElementsAre(4, 5, 9, 0, 9));
  const auto gathered = client_.GatherIntervals(source, from, counts);
  ASSERT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_THAT(gathered->elements, ElementsAre(4, 5, 0));
  const std::vector<double> dense = {7, 8, 9};
  const auto scattered = client_.ScatterIntervals(dense, to, counts, 4);
  ASSERT_TRUE(scattered.ok()) << scattered.status();
  EXPECT_THAT(scattered->elements, ElementsAre(7, 8, 0, 9));
  const auto expanded = client_.ExpandIntervals(dense, std::vector<int64_t>{2, 0, 3});
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_THAT(expanded->elements, ElementsAre(7, 7, 9, 9, 9));
}

TEST_P(ClientOnServer, BalancesAndSearches) {
  const auto balanced = client_.LoadBalance(std::vector<int64_t>{2, 0, 3});
  ASSERT_TRUE(balanced.ok()) << balanced.status();
  EXPECT_THAT(balanced->objects, ElementsAre(0, 0, 2, 2, 2));
  EXPECT_THAT(balanced->ranks, ElementsAre(0, 1, 0, 1, 2));
  const std::vector<uint16_t> haystack = {9, 5, 5, 1}, needles = {5, 10, 0};
  SearchOptions options;
  options.order = Order::kDescending;
  const auto lower = client_.Search(haystack, needles, options);
  ASSERT_TRUE(lower.ok()) << lower.status();
  EXPECT_THAT(lower->indices, ElementsAre(1, 0, 4));
  options.bound = SearchBound::kUpper;
  EXPECT_THAT(client_.Search(haystack, needles, options)->indices, ElementsAre(3, 0, 4));
}

TEST_P(ClientOnServer, EmptyArraysAreOrdinary) {
  const std::vector<float> none;
  const auto sorted = client_.Sort(none);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_TRUE(sorted->keys.empty());
  const auto moved = client_.MoveIntervals(none, {}, {}, {}, 3);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(moved->elements, ElementsAre(0, 0, 0));
}

TEST_P(ClientOnServer, AnErrorNamesTheFieldAndTheIndex) {
  const std::vector<std::vector<int32_t>> inputs = {{1, 2}, {3, 2}};
  const auto merged = client_.Merge(inputs);
  EXPECT_TRUE(absl::IsInvalidArgument(merged.status())) << merged.status();
  EXPECT_THAT(ViolatedField(merged.status()), ::testing::Optional(::testing::HasSubstr("keys[1]")));
  MergeOptions trusting;
  trusting.assume_sorted = true;
  EXPECT_TRUE(client_.Merge(inputs, trusting).ok());
}

TEST_P(ClientOnServer, ServesManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    threads.emplace_back([this, seed] {
      std::mt19937_64 random(seed);
      for (int call = 0; call < 20; ++call) {
        std::vector<uint64_t> keys(random() % 3000);
        for (uint64_t& key : keys) key = random();
        std::vector<uint64_t> expected = keys;
        std::sort(expected.begin(), expected.end());
        const auto sorted = client_.Sort(keys);
        ASSERT_TRUE(sorted.ok()) << sorted.status();
        EXPECT_THAT(sorted->keys, ElementsAreArray(expected)) << "seed " << seed << " call " << call;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ClientOnServer, SaysWhatTheServerIs) {
  const auto info = client_.GetServerInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->engine, "cpu");
  EXPECT_GT(info->lanes, 0);
  EXPECT_GT(info->max_request_bytes, 0);
  EXPECT_THAT(info->places, ::testing::IsSupersetOf({"inline", "stream", "shared_memory", "stored"}));
  EXPECT_THAT(info->shared_memory_prefixes, ElementsAre("/corank-"));
  EXPECT_GT(info->max_parts, 1);
}

TEST_P(ClientOnServer, SortsRowsOfSeveralColumns) {
  const std::vector<std::string> names = {"pear", "", "apple", "pear", "app", "apple"};
  const std::vector<int16_t> numbers = {1, 5, -2, 7, 0, 3};
  PackedStrings packed;
  for (const std::string& name : names) packed.Add(name);
  ColumnSortRequest request;
  request.columns = {packed.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.output = SortOutput::kKeysAndIndices;
  auto sorted = client_.SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  ASSERT_EQ(sorted->columns.size(), 2U);
  EXPECT_THAT(*sorted->columns[0].Strings(), ElementsAre("", "app", "apple", "apple", "pear", "pear"));
  EXPECT_THAT(*ToVector<int16_t>(sorted->columns[1].data), ElementsAre(5, 0, 3, -2, 7, 1));
  EXPECT_TRUE(absl::IsInternal(sorted->columns[1].Strings().status()));
  EXPECT_THAT(*ToIndices(*sorted->indices), ElementsAre(1, 4, 5, 2, 3, 0));

  const std::vector<std::array<char, 3>> codes = {{'b', 'b', 'b'}, {'a', 'b', 'c'}, {'\xFF', 'a', 'a'},
                                                  {'b', 'b', 'a'}, {'b', 'b', 'b'}, {'a', 'b', 'c'}};
  request.columns = {{ViewOf(codes), std::nullopt, Order::kDescending}, packed.view(Order::kDescending)};
  request.output = SortOutput::kKeys;
  request.values = ViewOf(numbers);
  request.limit = 4;
  sorted = client_.SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(*ToVector<int16_t>(*sorted->values), ElementsAre(-2, 1, 0, 7));
  EXPECT_THAT(*sorted->columns[1].Strings(), ElementsAre("apple", "pear", "app", "pear"));
  EXPECT_FALSE(sorted->indices.has_value());
}

TEST_P(ClientOnServer, RanksRowsOfSeveralColumns) {
  PackedStrings names;
  for (const char* name : {"pear", "apple", "pear", "apple", "apple"}) names.Add(name);
  const std::vector<int16_t> numbers = {1, 5, 1, 7, 5};
  ColumnSortRequest request;
  request.columns = {names.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.output = SortOutput::kRanks;
  const auto ranked = client_.SortColumns(request);
  ASSERT_TRUE(ranked.ok()) << ranked.status();
  EXPECT_TRUE(ranked->columns.empty());
  EXPECT_FALSE(ranked->indices.has_value());
  EXPECT_THAT(*ToIndices(*ranked->ranks), ElementsAre(3, 2, 3, 1, 2));
}

TEST_P(ClientOnServer, SearchesTablesBySeveralColumns) {
  PackedStrings names, sought;
  for (const char* name : {"apple", "apple", "pear"}) names.Add(name);
  for (const char* name : {"apple", "quince"}) sought.Add(name);
  const std::vector<int16_t> numbers = {5, 1, 0}, more = {1, 3};
  ColumnSearchRequest request;
  request.haystack = {names.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.needles = {sought.view(), {ViewOf(more), std::nullopt}};
  request.bound = SearchBound::kUpper;
  EXPECT_THAT(*ToIndices(client_.SearchColumns(request)->array), ElementsAre(2, 3));
  request.haystack[1].order = Order::kAscending;
  EXPECT_EQ(ViolatedField(client_.SearchColumns(request).status()), "haystack_columns");
}

TEST_P(ClientOnServer, MergesTablesBySeveralColumns) {
  PackedStrings names;
  for (const char* name : {"apple", "pear", "", "apple", "apple"}) names.Add(name);
  const std::vector<int16_t> numbers = {5, 1, 0, 7, 5};
  const std::vector<int64_t> tables = {0, 2, 5};
  ColumnSortRequest request;
  request.columns = {names.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.output = SortOutput::kKeysAndIndices;
  request.run_offsets = tables;
  auto merged = client_.SortColumns(request);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(*merged->columns[0].Strings(), ElementsAre("", "apple", "apple", "apple", "pear"));
  EXPECT_THAT(*ToIndices(*merged->indices), ElementsAre(2, 3, 0, 4, 1));
  EXPECT_EQ(merged->algorithm, SortAlgorithm::kMergeRuns);

  request.columns[1].order = Order::kAscending;
  merged = client_.SortColumns(request);
  EXPECT_EQ(ViolatedField(merged.status()), "run_offsets[1]");
}

TEST_P(ClientOnServer, SortsNullsToTheEndThatTheRequestNames) {
  const std::vector<float> numbers = {5, 2, std::nanf(""), 7, 1};
  PackedValidity validity;
  for (const bool is_valid : {true, false, true, false, true}) validity.Add(is_valid);
  PackedStrings names;
  for (const char* name : {"b", "", "a", "", "b"}) names.Add(name);
  ColumnSortRequest request;
  request.columns = {names.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.columns[0].validity = validity.bytes;
  request.columns[0].nulls = NullOrder::kFirst;
  request.columns[1].validity = validity.bytes;
  request.columns[1].nans = NanOrder::kAsNulls;
  request.output = SortOutput::kKeysAndIndices;
  auto sorted = client_.SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(*ToIndices(*sorted->indices), ElementsAre(1, 3, 2, 0, 4));
  EXPECT_THAT(*sorted->columns[0].Strings(), ElementsAre("", "", "a", "b", "b"));
  for (const SortedColumn& column : sorted->columns) {
    EXPECT_THAT(*column.validity, ElementsAre(0x1C));
    EXPECT_TRUE(column.IsNull(0) && column.IsNull(1) && !column.IsNull(2) && !column.IsNull(4));
  }
  request.columns = {{ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.columns[0].nans = NanOrder::kAsNulls;
  request.limit = 2;
  sorted = client_.SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(*ToIndices(*sorted->indices), ElementsAre(3, 0));
  EXPECT_FALSE(sorted->columns[0].validity.has_value());
  EXPECT_FALSE(sorted->columns[0].IsNull(1));
  const std::vector<uint8_t> too_long = {1, 1};
  request.columns[0].validity = too_long;
  EXPECT_EQ(ViolatedField(client_.SortColumns(request).status()), "key_columns[0].validity.count");
}

TEST_P(ClientOnServer, NamesTheColumnThatIsWrong) {
  const std::vector<int16_t> long_column = {1, 2, 3}, short_column = {1, 2};
  ColumnSortRequest request;
  EXPECT_TRUE(absl::IsInvalidArgument(client_.SortColumns(request).status()));
  request.columns = {{ViewOf(long_column), std::nullopt}, {ViewOf(short_column), std::nullopt}};
  EXPECT_EQ(ViolatedField(client_.SortColumns(request).status()), "key_columns[1].data.count");
}

// More than a chunk of everything. Compares results with plain code.
TEST_P(ClientOnServer, LargeArraysOfEveryOperatorTakeTheSameWay) {
  constexpr int64_t kCount = 700'000;
  std::mt19937_64 random(11);
  std::vector<uint32_t> keys(kCount);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % 100'000);
  std::vector<std::array<char, 6>> rows(kCount);
  for (size_t i = 0; i < rows.size(); ++i) std::memcpy(rows[i].data(), &i, 6);
  const std::vector<int64_t> order = corank::testing::StableOrder(KeyType::kUint32, Order::kAscending, Untyped(keys));

  const auto sorted = client_.SortWithValues(keys, rows);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_TRUE(Untyped(sorted->keys) == corank::testing::Gather(Untyped(keys), 4, order));
  EXPECT_TRUE(Untyped(sorted->values) == corank::testing::Gather(Untyped(rows), 6, order));
  EXPECT_EQ(sorted->stats.place, GetParam().place);
  const auto indices = client_.Argsort(keys);
  ASSERT_TRUE(indices.ok()) << indices.status();
  EXPECT_TRUE(indices->indices == order);

  const std::vector<uint32_t>& all = sorted->keys;
  const std::vector<std::vector<uint32_t>> inputs = {
      {all.begin(), all.begin() + 300'000}, all, {all.begin() + 1000, all.begin() + 1001}};
  std::vector<uint32_t> expected;
  for (const auto& input : inputs) expected.insert(expected.end(), input.begin(), input.end());
  std::sort(expected.begin(), expected.end());
  const auto merged = client_.Merge(inputs);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(merged->keys == expected);

  std::vector<int64_t> counts(200'000), offsets(counts.size());
  for (int64_t& count : counts) count = static_cast<int64_t>(random() % 4);
  const std::vector<int64_t> to = corank::testing::PrefixSums(counts);
  const int64_t total = to.back() + counts.back();
  for (size_t i = 0; i < counts.size(); ++i) offsets[i] = static_cast<int64_t>(random() % (kCount - 4));
  const corank::testing::Bytes gathered = corank::testing::Move(
      Untyped(keys), corank::testing::Bytes(static_cast<size_t>(4 * total)), 4, offsets, to, counts);
  const auto gather = client_.GatherIntervals(keys, offsets, counts);
  ASSERT_TRUE(gather.ok()) << gather.status();
  EXPECT_TRUE(Untyped(gather->elements) == gathered);
  const auto move = client_.MoveIntervals(keys, offsets, to, counts, total);
  ASSERT_TRUE(move.ok()) << move.status();
  EXPECT_TRUE(Untyped(move->elements) == gathered);
  const auto scatter = client_.ScatterIntervals(gather->elements, to, counts, std::vector<uint32_t>(total, 1));
  ASSERT_TRUE(scatter.ok()) << scatter.status();
  EXPECT_TRUE(scatter->elements == gather->elements);
  const auto [objects, ranks] = corank::testing::LoadBalance(counts);
  const auto balanced = client_.LoadBalance(counts);
  ASSERT_TRUE(balanced.ok()) << balanced.status();
  EXPECT_TRUE(balanced->objects == objects && balanced->ranks == ranks);
  const auto expanded = client_.ExpandIntervals(std::vector<int64_t>(offsets), counts);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  ASSERT_EQ(expanded->elements.size(), objects.size());
  for (size_t i = 0; i < objects.size(); ++i) ASSERT_EQ(expanded->elements[i], offsets[objects[i]]);
  const auto found = client_.Search(all, keys);
  ASSERT_TRUE(found.ok()) << found.status();
  for (size_t i = 0; i < keys.size(); i += 97) {
    ASSERT_EQ(found->indices[i], std::lower_bound(all.begin(), all.end(), keys[i]) - all.begin());
  }
}

TEST_P(ClientOnServer, SortsLargeColumnsOfStrings) {
  std::mt19937_64 random(12);
  std::vector<std::string> names(100'000);
  for (std::string& name : names) name = std::string(random() % 30, static_cast<char>('a' + random() % 3));
  PackedStrings packed;
  for (const std::string& name : names) packed.Add(name);
  ColumnSortRequest request;
  request.columns = {packed.view()};
  request.output = SortOutput::kKeysAndIndices;
  const auto sorted = client_.SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  std::stable_sort(names.begin(), names.end());
  EXPECT_TRUE(*sorted->columns[0].Strings() == names);
  request.limit = 1000;
  const auto first = client_.SortColumns(request);
  ASSERT_TRUE(first.ok()) << first.status();
  names.resize(1000);
  EXPECT_TRUE(*first->columns[0].Strings() == names);
}

TEST_P(ClientOnServer, RegionsAndKeptArraysStayWhereTheyAre) {
  auto memory = SharedMemory::Create(1 << 20);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto region = client_.Register(*memory);
  ASSERT_TRUE(region.ok()) << region.status();
  memory->Unlink();
  const absl::Span<uint32_t> in = memory->span<uint32_t>(4096, 50'000), out = memory->span<uint32_t>(524288, 50'000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>((i * 7919) % 50'021);
  std::vector<uint32_t> expected(in.begin(), in.end());
  std::sort(expected.begin(), expected.end());
  const auto stats = client_.SortInto(in, out);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin()));
  const auto is_registered = [&] {
    const auto regions = client_.ListRegions();  // of all clients of this server
    EXPECT_TRUE(regions.ok()) << regions.status();
    return std::any_of(regions->begin(), regions->end(), [&](const auto& other) { return other.name == *region; });
  };
  EXPECT_TRUE(is_registered());
  // A server may release a call's region shortly after its response.
  EXPECT_TRUE(corank::testing::Eventually([&] { return client_.Unregister(*region).ok(); }));
  EXPECT_FALSE(is_registered());

  const auto stored = client_.Store("kept", ViewOf(in));
  ASSERT_TRUE(stored.ok()) << stored.status();
  SortRequest sort;
  sort.keys = stored->view();
  sort.keys_output = Stored("sorted");
  const auto sorted = client_.Sort(sort);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys->placed, 50'000);
  const auto fetched = client_.Fetch("sorted");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_TRUE(*ToVector<uint32_t>(*fetched) == expected);
  EXPECT_EQ(client_.ListArrays()->arrays.size(), 2u);
  ASSERT_TRUE(client_.StoreSharded("kept", ViewOf(in)).ok());
  EXPECT_EQ(client_.ListArrays()->arrays[0].shards, 1) << "of one device";
  EXPECT_EQ(client_.ListArrays()->arrays[1].shards, 0);
  sort.keys_output.sharded = true;
  CallOptions unary;  // a stream is refused
  unary.place = Place::kInline;
  ASSERT_TRUE(client_.Sort(sort, unary).ok());
  EXPECT_EQ(client_.ListArrays()->arrays[1].shards, 1);
  EXPECT_TRUE(*ToVector<uint32_t>(*client_.Fetch("sorted")) == expected);
  const auto sharded = client_.StoreSharded("again", ViewOf(expected));
  ASSERT_TRUE(sharded.ok()) << sharded.status();
  MergeRequest merge;
  merge.keys = {sharded->view(), ViewOf(expected)};
  merge.keys_output = Stored("merged");
  merge.keys_output.sharded = true;
  const auto merged = client_.Merge(merge, unary);
  ASSERT_TRUE(merged.ok()) << merged.status();
  std::vector<uint32_t> twice = expected;
  twice.insert(twice.end(), expected.begin(), expected.end());
  std::sort(twice.begin(), twice.end());
  EXPECT_TRUE(*ToVector<uint32_t>(*client_.Fetch("merged")) == twice);
  for (const char* name : {"again", "kept", "merged", "sorted"}) {
    EXPECT_TRUE(corank::testing::Eventually([&] { return client_.DeleteArray(name).ok(); })) << name;
  }
}

TEST_P(ClientOnServer, AChainRunsWithItsIntermediatesOnTheServer) {
  const std::vector<uint32_t> kept = {10, 20, 30}, fresh = {25, 5, 15};
  const auto stored = client_.Store("chain", ViewOf(kept));
  ASSERT_TRUE(stored.ok()) << stored.status();
  const std::vector<int64_t> offsets = {1, 5}, counts = {2, 1};
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
  const auto results = client_.Run({sort, merge, gather});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(*ToVector<uint32_t>((*results)[2].arrays[0]), ElementsAre(10, 15, 30));
  EXPECT_TRUE(corank::testing::Eventually([&] { return client_.DeleteArray("chain").ok(); }));
}

}  // namespace
}  // namespace corank::client
