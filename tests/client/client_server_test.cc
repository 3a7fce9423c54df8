// The client library's typed calls on the real server; answers are compared with plain standard algorithms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "tests/client/process.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class ClientOnServer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new corank::testing::Server; }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    ASSERT_NE(server_->address(), "");
    ClientOptions options;
    options.address = server_->address();
    auto client = Client::Create(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = std::make_unique<Client>(*std::move(client));
  }

  static corank::testing::Server* server_;
  std::unique_ptr<Client> client_;
};

corank::testing::Server* ClientOnServer::server_ = nullptr;

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

template <typename Key>
class ClientOnServerTyped : public ClientOnServer {};
using AllKeys = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Float16,
                                 Bfloat16, float, double>;
TYPED_TEST_SUITE(ClientOnServerTyped, AllKeys);

TYPED_TEST(ClientOnServerTyped, SortsKeysAndValuesAsAStableSortDoes) {
  constexpr KeyType kType = internal::KeyTraits<TypeParam>::Type();
  constexpr int64_t kCount = 1000;
  const corank::testing::Bytes bytes =
      corank::testing::MakeKeys(kType, corank::testing::Distribution::kSpecialFloats, kCount, 7);
  const std::vector<TypeParam> keys = Typed<TypeParam>(bytes);
  std::vector<std::array<char, 12>> rows(kCount);
  for (int64_t i = 0; i < kCount; ++i) std::memcpy(rows[i].data(), &i, sizeof(i));
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    const std::vector<int64_t> expected = corank::testing::StableOrder(kType, order, bytes);
    SortOptions options;
    options.order = order;
    const auto sorted = this->client_->SortWithValues(keys, rows, options);
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(Untyped(sorted->keys), corank::testing::Gather(bytes, sizeof(TypeParam), expected));
    EXPECT_EQ(Untyped(sorted->values), corank::testing::Gather(Untyped(rows), 12, expected));
    const auto permutation = this->client_->Argsort(keys, options);
    ASSERT_TRUE(permutation.ok()) << permutation.status();
    EXPECT_EQ(permutation->indices, expected);
    options.limit = 10;
    const auto first = this->client_->Sort(keys, options);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(Untyped(first->keys),
              corank::testing::Gather(bytes, sizeof(TypeParam), {expected.begin(), expected.begin() + 10}));
    EXPECT_NE(first->algorithm, SortAlgorithm::kAuto);
    EXPECT_EQ(first->stats.engine, "cpu");
    EXPECT_FALSE(first->stats.request_id.empty());
  }
}

TEST_F(ClientOnServer, SortsSegmentsEachForItself) {
  const std::vector<int32_t> keys = {3, 1, 2, 9, 8, -1};
  const std::vector<int64_t> offsets = {0, 3, 3, 6};
  SortOptions options;
  options.segment_offsets = offsets;
  const auto sorted = client_->Sort(keys, options);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(1, 2, 3, -1, 8, 9));
}

TEST_F(ClientOnServer, MergesInputsWithValues) {
  const std::vector<std::vector<int32_t>> keys = {{1, 3, 5}, {}, {1, 2, 5}};
  const std::vector<std::vector<char>> values = {{'a', 'b', 'c'}, {}, {'d', 'e', 'f'}};
  const auto merged = client_->MergeWithValues(keys, values);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(merged->keys, ElementsAre(1, 1, 2, 3, 5, 5));
  EXPECT_THAT(merged->values, ElementsAre('a', 'd', 'e', 'b', 'c', 'f'));
  const auto alone = client_->Merge(keys);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->keys, merged->keys);
}

TEST_F(ClientOnServer, MovesIntervals) {
  const std::vector<double> source = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> from = {4, 0}, to = {0, 3}, counts = {2, 1};
  const auto moved = client_->MoveIntervals(source, from, to, counts, 5);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(moved->elements, ElementsAre(4, 5, 0, 0, 0));
  const auto onto = client_->MoveIntervals(source, from, to, counts, std::vector<double>(5, 9.0));
  ASSERT_TRUE(onto.ok()) << onto.status();
  EXPECT_THAT(onto->elements, ElementsAre(4, 5, 9, 0, 9));
  const auto gathered = client_->GatherIntervals(source, from, counts);
  ASSERT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_THAT(gathered->elements, ElementsAre(4, 5, 0));
  const std::vector<double> dense = {7, 8, 9};
  const auto scattered = client_->ScatterIntervals(dense, to, counts, 4);
  ASSERT_TRUE(scattered.ok()) << scattered.status();
  EXPECT_THAT(scattered->elements, ElementsAre(7, 8, 0, 9));
  const auto expanded = client_->ExpandIntervals(dense, std::vector<int64_t>{2, 0, 3});
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_THAT(expanded->elements, ElementsAre(7, 7, 9, 9, 9));
}

TEST_F(ClientOnServer, BalancesAndSearches) {
  const auto balanced = client_->LoadBalance(std::vector<int64_t>{2, 0, 3});
  ASSERT_TRUE(balanced.ok()) << balanced.status();
  EXPECT_THAT(balanced->objects, ElementsAre(0, 0, 2, 2, 2));
  EXPECT_THAT(balanced->ranks, ElementsAre(0, 1, 0, 1, 2));
  const std::vector<uint16_t> haystack = {9, 5, 5, 1}, needles = {5, 10, 0};
  SearchOptions options;
  options.order = Order::kDescending;
  const auto lower = client_->Search(haystack, needles, options);
  ASSERT_TRUE(lower.ok()) << lower.status();
  EXPECT_THAT(lower->indices, ElementsAre(1, 0, 4));
  options.bound = SearchBound::kUpper;
  EXPECT_THAT(client_->Search(haystack, needles, options)->indices, ElementsAre(3, 0, 4));
}

TEST_F(ClientOnServer, EmptyArraysAreOrdinary) {
  const std::vector<float> none;
  const auto sorted = client_->Sort(none);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_TRUE(sorted->keys.empty());
  const auto moved = client_->MoveIntervals(none, {}, {}, {}, 3);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(moved->elements, ElementsAre(0, 0, 0));
}

TEST_F(ClientOnServer, AnErrorNamesTheFieldAndTheIndex) {
  const std::vector<std::vector<int32_t>> inputs = {{1, 2}, {3, 2}};
  const auto merged = client_->Merge(inputs);
  EXPECT_TRUE(absl::IsInvalidArgument(merged.status())) << merged.status();
  EXPECT_THAT(ViolatedField(merged.status()), ::testing::Optional(::testing::HasSubstr("keys[1]")));
  MergeOptions trusting;
  trusting.assume_sorted = true;
  EXPECT_TRUE(client_->Merge(inputs, trusting).ok());
}

TEST_F(ClientOnServer, ServesManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    threads.emplace_back([this, seed] {
      std::mt19937_64 random(seed);
      for (int call = 0; call < 20; ++call) {
        std::vector<uint64_t> keys(random() % 3000);
        for (uint64_t& key : keys) key = random();
        std::vector<uint64_t> expected = keys;
        std::sort(expected.begin(), expected.end());
        const auto sorted = client_->Sort(keys);
        ASSERT_TRUE(sorted.ok()) << sorted.status();
        EXPECT_THAT(sorted->keys, ElementsAreArray(expected)) << "seed " << seed << " call " << call;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ClientOnServer, SaysWhatTheServerIs) {
  const auto info = client_->GetServerInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->engine, "cpu");
  EXPECT_GT(info->lanes, 0);
  EXPECT_GT(info->max_request_bytes, 0);
  EXPECT_THAT(info->places, ::testing::Contains("inline"));
}

TEST_F(ClientOnServer, SortsRowsOfSeveralColumns) {
  const std::vector<std::string> names = {"pear", "", "apple", "pear", "app", "apple"};
  const std::vector<int16_t> numbers = {1, 5, -2, 7, 0, 3};
  PackedStrings packed;
  for (const std::string& name : names) packed.Add(name);
  ColumnSortRequest request;
  request.columns = {packed.view(), {ViewOf(numbers), std::nullopt, Order::kDescending}};
  request.output = SortOutput::kKeysAndIndices;
  auto sorted = client_->SortColumns(request);
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
  sorted = client_->SortColumns(request);
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(*ToVector<int16_t>(*sorted->values), ElementsAre(-2, 1, 0, 7));
  EXPECT_THAT(*sorted->columns[1].Strings(), ElementsAre("apple", "pear", "app", "pear"));
  EXPECT_FALSE(sorted->indices.has_value());
}

TEST_F(ClientOnServer, NamesTheColumnThatIsWrong) {
  const std::vector<int16_t> long_column = {1, 2, 3}, short_column = {1, 2};
  ColumnSortRequest request;
  EXPECT_TRUE(absl::IsInvalidArgument(client_->SortColumns(request).status()));
  request.columns = {{ViewOf(long_column), std::nullopt}, {ViewOf(short_column), std::nullopt}};
  EXPECT_EQ(ViolatedField(client_->SortColumns(request).status()), "key_columns[1].data.count");
}

}  // namespace
}  // namespace corank::client
