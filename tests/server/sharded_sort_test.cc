// One sort on several devices. The devices are CPU engines that tests hold and lose, so that nothing depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/plan/planner.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/sharded_fixture.h"

namespace corank::testing {
namespace {

class ShardedSortTest : public ShardedTest {
 protected:
  struct Answer {
    grpc::Status status;
    v1::SortResponse response;
    int devices() const { return status.ok() ? response.stats().devices() : -1; }
  };

  Answer Sort(const v1::SortRequest& request) {
    Answer answer;
    grpc::ClientContext context;
    answer.status = running_->stub().Sort(&context, request, &answer.response);
    return answer;
  }
  Answer Sort(const std::vector<int32_t>& keys) {
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(keys);
    return Sort(request);
  }
  Answer SortOn(int devices, const v1::SortRequest& request) {
    return AnswerOn(devices, [&] { return Sort(request); });
  }
  std::future<Answer> SortLater(const std::vector<int32_t>& keys) {
    return std::async(std::launch::async, [this, keys] { return Sort(keys); });
  }
  void ExpectSorted(const Answer& answer, std::vector<int32_t> keys) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    std::sort(keys.begin(), keys.end());
    EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == keys);
  }
};

/// With links between the devices, and without.
class EachWay : public ShardedSortTest, public ::testing::WithParamInterface<bool> {
 protected:
  EachWay() { are_linked_ = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(ByLinks, EachWay, ::testing::Bool());

TEST_P(EachWay, IsTheStableSortOfTheWhole) {
  Start(3);
  for (const int64_t count : {1000, 4096, 10'001}) {
    for (const uint32_t distinct : {1U, 7U, 1U << 30}) {
      for (const bool down : {false, true}) {
        const std::vector<int32_t> keys = Keys(count, distinct);
        std::vector<uint32_t> order(keys.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return down ? keys[a] > keys[b] : keys[a] < keys[b]; });
        for (const auto& [offset, limit] :
             {std::pair<int64_t, int64_t>{0, -1}, {count / 3, -1}, {count / 2, count / 3}}) {
          SCOPED_TRACE(::testing::Message() << count << " keys, offset " << offset << ", limit " << limit);
          const auto first = order.begin() + offset;
          const std::vector<uint32_t> rows(first, limit < 0 ? order.end() : first + limit);
          for (const bool with_values : {false, true}) {
            v1::SortRequest request;
            *request.mutable_keys() = Int32s(keys);
            request.set_offset(offset);
            if (limit >= 0) request.set_limit(limit);
            if (down) request.set_order(v1::SORT_ORDER_DESCENDING);
            if (!with_values) request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
            if (with_values) *request.mutable_values() = Int32s(Keys(count));
            const Answer answer = SortOn(3, request);
            ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
            std::vector<int32_t> expected;
            for (const uint32_t row : rows) expected.push_back(keys[row]);
            EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == expected);
            if (!with_values) {
              EXPECT_TRUE(Elements<uint32_t>(answer.response.indices()) == rows);
              continue;
            }
            const std::vector<int32_t> values = Keys(count);
            for (size_t i = 0; i < rows.size(); ++i) expected[i] = values[rows[i]];
            EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == expected);
          }
        }
      }
    }
  }
  EXPECT_GE(Shared("sort"), 108);
}

TEST_F(ShardedSortTest, NoResultsTakeOneDevice) {
  Start(3);
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(Keys(10'000));
  request.set_offset(10'000);
  EXPECT_EQ(SortOn(1, request).response.keys().count(), 0);
}

TEST_P(EachWay, TakesAnyNumberOfDevices) {
  for (int devices = 1; devices <= 8; ++devices) {
    devices_.clear();
    Start(devices);
    const std::vector<int32_t> keys = Keys(20'001, 5000);
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(keys);
    ExpectSorted(SortOn(devices, request), keys);
  }
}

TEST_P(EachWay, SortsSegmentsApart) {
  Start(3);
  const std::vector<int32_t> keys = Keys(9000);
  std::vector<int32_t> expected = keys;
  std::vector<int64_t> offsets;
  for (int64_t end = 0; end <= 9000; end += 300) {
    if (end > 0) std::sort(expected.begin() + offsets.back(), expected.begin() + end);
    offsets.push_back(end);
  }
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  *request.mutable_segment_offsets() = Int64s(offsets);
  const Answer answer = SortOn(3, request);
  EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == expected);
}

TEST_P(EachWay, ReturnsIndicesAlone) {
  Start();
  const std::vector<int32_t> keys = Keys(5000, 50);
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  request.set_output(v1::SORT_OUTPUT_INDICES);
  const Answer answer = SortOn(2, request);
  const std::vector<uint32_t> order = Elements<uint32_t>(answer.response.indices());
  ASSERT_EQ(order.size(), keys.size());
  for (size_t i = 1; i < order.size(); ++i) {
    ASSERT_TRUE(keys[order[i - 1]] < keys[order[i]] ||
                (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
  }
}

TEST_P(EachWay, NeverReadsOverwrittenKeysAgainWhenMemoryRunsShort) {
  Start(3);
  SharedObject object(1 << 20);
  ASSERT_TRUE(MemoryCalls(running_->channel()).Register(object).ok());
  const std::vector<int32_t> keys = Keys(3001);
  std::vector<int32_t> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_INT32);
  request.mutable_keys()->set_count(3001);
  request.mutable_keys()->mutable_shared_memory()->set_region("r");
  *request.mutable_keys_destination() = ToRegion(0);
  RunShortInEachCall(
      3,
      [&] {
        std::memcpy(object.As<int32_t>(), keys.data(), keys.size() * sizeof(int32_t));
        return Sort(request);
      },
      [&](const Answer& answer) {
        if (!answer.status.ok()) {
          EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << answer.status.error_message();
          return;
        }
        EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), object.As<int32_t>()));
      });
}

class FirstRows : public ShardedSortTest, public ::testing::WithParamInterface<std::tuple<int, bool>> {};

TEST_P(FirstRows, AreThoseOfTheWhole) {
  const int devices = std::get<0>(GetParam());
  are_linked_ = std::get<1>(GetParam());
  Start(devices);
  const int64_t count = 9'001;
  for (const uint32_t distinct : {1U, 7U, 1U << 30}) {
    const std::vector<int32_t> keys = Keys(count, distinct), values = Keys(count);
    for (const bool down : {false, true}) {
      std::vector<uint32_t> order(keys.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(),
                       [&](uint32_t a, uint32_t b) { return down ? keys[a] > keys[b] : keys[a] < keys[b]; });
      for (const int64_t limit : {int64_t{1}, int64_t{7}, int64_t{1200}, count - 1, count + 1}) {
        std::vector<uint32_t> first(order.begin(), order.begin() + std::min(limit, count));
        std::vector<int32_t> first_keys, first_values;
        for (const uint32_t row : first) {
          first_keys.push_back(keys[row]);
          first_values.push_back(values[row]);
        }
        v1::SortRequest request;
        *request.mutable_keys() = Int32s(keys);
        request.set_limit(limit);
        if (down) request.set_order(v1::SORT_ORDER_DESCENDING);
        Answer answer = SortOn(devices, request);
        EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == first_keys) << limit;
        request.set_output(v1::SORT_OUTPUT_INDICES);
        answer = SortOn(devices, request);
        EXPECT_TRUE(Elements<uint32_t>(answer.response.indices()) == first) << limit;
        request.clear_output();
        *request.mutable_values() = Int32s(values);
        answer = SortOn(devices, request);
        EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == first_keys) << limit;
        EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == first_values) << limit;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnSeveralDevices, FirstRows,
                         ::testing::Combine(::testing::Values(2, 3, 8), ::testing::Bool()));

TEST_F(ShardedSortTest, TakesOneDeviceWhereOthersWouldNotHelp) {
  Start();
  const auto devices_of = [this](const auto& request) {
    AwaitIdle();
    return Sort(request).devices();
  };
  EXPECT_EQ(devices_of(Keys(10)), 1) << "too small";
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(Keys(5000));
  request.set_limit(0);
  EXPECT_EQ(devices_of(request), 1) << "of no rows";
  request.clear_limit();
  *request.mutable_segment_offsets() = Int64s({0, 1, 5000});
  EXPECT_EQ(devices_of(request), 1) << "by segments";
  AwaitIdle();
  device(1).Hold();
  device(0).Hold();
  std::future<Answer> first = SortLater(Keys(10));
  EXPECT_TRUE(Eventually([this] { return device(0).held() + device(1).held() == 1; }));
  const int busy = device(0).held() == 1 ? 0 : 1;
  device(1 - busy).Release();
  const std::vector<int32_t> keys = Keys(5000);
  Answer beside = Sort(keys);
  EXPECT_EQ(beside.devices(), 1) << "the other one is busy";
  ExpectSorted(beside, keys);
  device(busy).Release();
  ExpectSorted(first.get(), Keys(10));
  EXPECT_EQ(devices_of(keys), 2);
}

TEST_F(ShardedSortTest, IsOffWhereRequestsMayTakeOneDevice) {
  Start(2, /*devices_per_request=*/1);
  AnswerOn(1, [this] { return Sort(Keys(5000)); });
  EXPECT_EQ(Shared("sort"), 0);
}

TEST_P(EachWay, FailsWithADeviceThatIsLostAndTheOthersServeOn) {
  Start();
  const std::vector<int32_t> keys = Keys(5000);
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  ExpectSorted(SortOn(2, request), keys);
  LoseADeviceOf([&] { return Sort(keys); });
  for (int i = 0; i < 5; ++i) {
    const Answer answer = Sort(keys);
    ExpectSorted(answer, keys);
    EXPECT_EQ(answer.devices(), 1);
    EXPECT_EQ(answer.response.stats().device_ordinal(), 0);
  }
  EXPECT_FALSE(running_->server().device_lost());
}

TEST(ChooseShards, DependsOnSizeArraysLoadLinksAndOptionsAlone) {
  const std::vector<uint64_t> kAllLinked(5, 0b11111);
  PlannerOptions options;
  options.shard_bytes = 100;
  EXPECT_EQ(ChooseShards(1000, {1}, 0b1111, kAllLinked, options), 0b1111U);
  EXPECT_EQ(ChooseShards(399, {1}, 0b1111, kAllLinked, options), 0b0111U) << "each has enough to do";
  EXPECT_EQ(ChooseShards(199, {1}, 0b1111, kAllLinked, options), 0U);
  EXPECT_EQ(ChooseShards(1000, {1}, 0b1010, kAllLinked, options), 0b1010U);
  EXPECT_EQ(ChooseShards(1000, {1}, 0b0100, kAllLinked, options), 0U) << "one alone";
  EXPECT_EQ(ChooseShards(1000, {1}, 0, kAllLinked, options), 0U);
  EXPECT_EQ(ChooseShards(1000, {0}, 0b1111, kAllLinked, options), 0U) << "one device must do it";
  EXPECT_EQ(ChooseShards(399, {64}, 0b1111, kAllLinked, options), 0b0111U);
  EXPECT_EQ(ChooseShards(1000, {128}, 0b11111, kAllLinked, options), 0b11111U);
  EXPECT_EQ(ChooseShards(1000, {129}, 0b11111, kAllLinked, options), 0b00111U) << "a part of each array is short";
  options.most_shards = 2;
  EXPECT_EQ(ChooseShards(1000, {1}, 0b1110, kAllLinked, options), 0b0110U);
  options.most_shards = 1;
  EXPECT_EQ(ChooseShards(1000, {1}, 0b1111, kAllLinked, options), 0U);
}

TEST(ChooseShards, NeedsNoLinksWhereDevicesExchangeNothing) {
  PlannerOptions options;
  options.shard_bytes = 100;
  const std::vector<uint64_t> none = {0b001, 0b010, 0b100};
  EXPECT_EQ(ChooseShards(300, {1, Exchange::kNone}, 0b111, none, options), 0b111U);
  EXPECT_EQ(ChooseShards(300, {1, Exchange::kNone}, 0b101, none, options), 0b101U);
  EXPECT_EQ(ChooseShards(10'000, {1, Exchange::kReads}, 0b111, none, options), 0U);
}

TEST(ChooseShards, CopiesThroughTheHostFromTwiceTheBytesOn) {
  PlannerOptions options;
  options.shard_bytes = 100;
  const std::vector<uint64_t> none = {0b001, 0b010, 0b100};
  for (const int64_t cost : {1, 2}) {
    const Sharing sort{1, Exchange::kCopies, cost};
    EXPECT_EQ(ChooseShards(399, sort, 0b111, none, options), 0U);
    EXPECT_EQ(ChooseShards(400, sort, 0b111, none, options), 0b011U);
    EXPECT_EQ(ChooseShards(400, sort, 0b100, none, options), 0U) << "one alone";
    EXPECT_EQ(ChooseShards(599, sort, 0b111, none, options), 0b011U);
    EXPECT_EQ(ChooseShards(600, sort, 0b111, none, options), 0b111U);
  }
  EXPECT_EQ(ChooseShards(599, {1, Exchange::kCopies, 3}, 0b011, none, options), 0U);
  EXPECT_EQ(ChooseShards(600, {1, Exchange::kCopies, 3}, 0b011, none, options), 0b011U);
  EXPECT_EQ(ChooseShards(1199, {129, Exchange::kCopies}, 0b011, none, options), 0U) << "a part of each array is short";
  EXPECT_EQ(ChooseShards(1200, {129, Exchange::kCopies}, 0b011, none, options), 0b011U);
  EXPECT_EQ(ChooseShards(200, {1, Exchange::kCopies}, 0b11, Topology({0b11, 0b11}), options), 0b11U) << "over a link";
  options.most_shards = 1;
  EXPECT_EQ(ChooseShards(10'000, {1, Exchange::kCopies}, 0b111, none, options), 0U);
  EXPECT_EQ(ChooseShards(int64_t{1} << 27, {1, Exchange::kCopies}, 0b011, none, {}), 0b011U) << "as measured";
}

TEST(ChooseShards, CopiesThroughTheHostOnlyWhereNoTwoIdleDevicesAreLinked) {
  PlannerOptions options;
  options.shard_bytes = 100;
  const Sharing sort{1, Exchange::kCopies};
  const std::vector<uint64_t> one_pair = {0b011, 0b011, 0b100};
  EXPECT_EQ(ChooseShards(1'000'000, sort, 0b111, one_pair, options), 0b011U);
  EXPECT_EQ(ChooseShards(1'000'000, sort, 0b101, one_pair, options), 0b101U);
  const std::vector<uint64_t> two_pairs = {0b0011, 0b0011, 0b1100, 0b1100};
  EXPECT_EQ(ChooseShards(1'000'000, sort, 0b1111, two_pairs, options), 0b0011U);
  EXPECT_EQ(ChooseShards(1'000'000, sort, 0b1110, two_pairs, options), 0b1100U);
  EXPECT_EQ(ChooseShards(1'000'000, sort, 0b0110, two_pairs, options), 0b0110U) << "of two pairs";
  EXPECT_EQ(ChooseShards(199, sort, 0b1111, two_pairs, options), 0U);
}

TEST(ChooseShards, CopiesThroughTheHostBetweenDevicesWithABusEach) {
  PlannerOptions options;
  options.shard_bytes = 100;
  const Sharing sort{1, Exchange::kCopies};
  Topology topology({0b0001, 0b0010, 0b0100, 0b1000});
  topology.links.assign(4, std::vector<DeviceLink>(4));
  for (const size_t one : {0, 2}) {
    topology.links[one][one + 1].shares_bus = topology.links[one + 1][one].shares_bus = true;
  }
  EXPECT_EQ(ChooseShards(10'000, sort, 0b1111, topology, options), 0b0101U);
  EXPECT_EQ(ChooseShards(10'000, sort, 0b1110, topology, options), 0b0110U);
  EXPECT_EQ(ChooseShards(10'000, sort, 0b1100, topology, options), 0U);
  EXPECT_EQ(ChooseShards(10'000, {1, Exchange::kNone}, 0b1100, topology, options), 0b1100U) << "exchange nothing";
  topology.reach = {0b0011, 0b0011, 0b1100, 0b1100};
  EXPECT_EQ(ChooseShards(10'000, sort, 0b1100, topology, options), 0b1100U) << "over a link";
}

TEST(ChooseShards, TakesTheDevicesWithTheBestConnections) {
  PlannerOptions options;
  options.shard_bytes = 100;
  Topology topology(std::vector<uint64_t>(3, 0b111));
  topology.numa_nodes = {0, 1, 1};
  EXPECT_EQ(ChooseShards(299, {1}, 0b111, topology, options), 0b110U);
  EXPECT_EQ(ChooseShards(299, {1, Exchange::kNone}, 0b111, topology, options), 0b110U);
  EXPECT_EQ(ChooseShards(299, {1}, 0b011, topology, options), 0b011U);
}

TEST(ChooseShards, TakesDevicesThatReachEachOther) {
  PlannerOptions options;
  options.shard_bytes = 100;
  const std::vector<uint64_t> islands = {0b00011, 0b00011, 0b11100, 0b11100, 0b11100};
  EXPECT_EQ(ChooseShards(1000, {1}, 0b11111, islands, options), 0b11100U) << "the larger island";
  EXPECT_EQ(ChooseShards(1000, {1}, 0b01111, islands, options), 0b00011U) << "the first of two as large";
  EXPECT_EQ(ChooseShards(1000, {1}, 0b10010, islands, options), 0U);
  EXPECT_EQ(ChooseShards(299, {1}, 0b11111, islands, options), 0b00011U);
  const std::vector<uint64_t> chain = {0b011, 0b111, 0b110};
  EXPECT_EQ(ChooseShards(1000, {1}, 0b111, chain, options), 0b011U) << "the first and the last do not";
  const std::vector<uint64_t> none = {0b01, 0b10};
  EXPECT_EQ(ChooseShards(1000, {1}, 0b11, none, options), 0U);
}

}  // namespace
}  // namespace corank::testing
