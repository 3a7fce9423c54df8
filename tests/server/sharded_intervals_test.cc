// Intervals on several devices. The devices are CPU engines that tests hold and lose, so that nothing depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "server/plan/planner.h"
#include "server/run/device_ops/move.h"
#include "server/run/rows_in_turn.h"
#include "tests/server/sharded_kept_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

std::vector<int64_t> Counts(int64_t count) {
  std::vector<int64_t> counts(static_cast<size_t>(count));
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<int64_t>(i * 7919 % 61);
  return counts;
}

std::vector<int32_t> Repeated(const std::vector<int32_t>& values, const std::vector<int64_t>& counts) {
  std::vector<int32_t> repeated;
  for (size_t i = 0; i < counts.size(); ++i) repeated.insert(repeated.end(), static_cast<size_t>(counts[i]), values[i]);
  return repeated;
}

template <typename Response>
struct Answer {
  grpc::Status status;
  Response response;
  int devices() const { return status.ok() ? response.stats().devices() : -1; }
};

class ShardedIntervalsTest : public ShardedKeptTest {
 protected:
  Answer<v1::ExpandIntervalsResponse> Expand(const v1::ExpandIntervalsRequest& request) {
    Answer<v1::ExpandIntervalsResponse> answer;
    grpc::ClientContext context;
    answer.status = running_->stub().ExpandIntervals(&context, request, &answer.response);
    return answer;
  }
  Answer<v1::LoadBalanceResponse> Balance(const v1::LoadBalanceRequest& request) {
    Answer<v1::LoadBalanceResponse> answer;
    grpc::ClientContext context;
    answer.status = running_->stub().LoadBalance(&context, request, &answer.response);
    return answer;
  }
  Answer<v1::GatherIntervalsResponse> Gathered(const v1::GatherIntervalsRequest& request) {
    Answer<v1::GatherIntervalsResponse> answer;
    grpc::ClientContext context;
    answer.status = running_->stub().GatherIntervals(&context, request, &answer.response);
    return answer;
  }
  Answer<v1::MoveIntervalsResponse> Moved(const v1::MoveIntervalsRequest& request) {
    Answer<v1::MoveIntervalsResponse> answer;
    grpc::ClientContext context;
    answer.status = running_->stub().MoveIntervals(&context, request, &answer.response);
    return answer;
  }
  Answer<v1::ScatterIntervalsResponse> Scattered(const v1::ScatterIntervalsRequest& request) {
    Answer<v1::ScatterIntervalsResponse> answer;
    grpc::ClientContext context;
    answer.status = running_->stub().ScatterIntervals(&context, request, &answer.response);
    return answer;
  }
  static v1::ExpandIntervalsRequest RequestOf(const std::vector<int32_t>& values, const std::vector<int64_t>& counts) {
    v1::ExpandIntervalsRequest request;
    *request.mutable_values() = Int32s(values);
    *request.mutable_counts() = Int64s(counts);
    return request;
  }
};

class IntervalsOn : public ShardedIntervalsTest, public ::testing::WithParamInterface<int> {};

TEST_P(IntervalsOn, AreExpandedAsAWhole) {
  Start(GetParam());
  for (const int64_t intervals : {1500, 4000, 10'001}) {
    const v1::ExpandIntervalsRequest request = RequestOf(Keys(intervals), Counts(intervals));
    Answer<v1::ExpandIntervalsResponse> answer = AnswerOn(GetParam(), [&] { return Expand(request); });
    EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == Repeated(Keys(intervals), Counts(intervals)));
  }
  EXPECT_GE(Shared("expand_intervals"), 3);
}

TEST_P(IntervalsOn, FindTheObjectsOfAllItems) {
  Start(GetParam());
  v1::LoadBalanceRequest request;
  *request.mutable_counts() = Int64s(Counts(5000));
  Answer<v1::LoadBalanceResponse> answer = AnswerOn(GetParam(), [&] { return Balance(request); });
  const auto [objects, ranks] = LoadBalance(Counts(5000));
  const std::vector<uint32_t> found = Elements<uint32_t>(answer.response.objects());
  const std::vector<uint32_t> found_ranks = Elements<uint32_t>(answer.response.ranks());
  EXPECT_TRUE(std::equal(found.begin(), found.end(), objects.begin(), objects.end()));
  EXPECT_TRUE(std::equal(found_ranks.begin(), found_ranks.end(), ranks.begin(), ranks.end()));
  EXPECT_GE(Shared("load_balance"), 1);
}

TEST_P(IntervalsOn, MayBeKeptInParts) {
  Start(GetParam(), 0, kPlenty);
  for (const int64_t intervals : {0, 1, 2, 3, 3001}) {
    const std::vector<int32_t> values = Keys(intervals), expected = Repeated(values, Counts(intervals));
    ASSERT_TRUE(Store("values", values).ok());
    v1::ExpandIntervalsRequest request = RequestOf({}, Counts(intervals));
    *request.mutable_values() = Kept("values");
    Answer<v1::ExpandIntervalsResponse> answer = Expand(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.devices(), GetParam());
    EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == expected) << intervals;
    *request.mutable_destination() = KeptAs("rows", /*sharded=*/true);
    answer = Expand(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.response.values().stored().sharded());
    EXPECT_TRUE(Fetched("rows") == expected) << intervals;
    *request.mutable_values() = Int32s(values);
    answer = Expand(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(Fetched("rows") == expected) << intervals;
    v1::LoadBalanceRequest balance;
    *balance.mutable_counts() = Int64s(Counts(intervals));
    *balance.mutable_objects_destination() = KeptAs("objects", /*sharded=*/true);
    const Answer<v1::LoadBalanceResponse> found = Balance(balance);
    ASSERT_TRUE(found.status.ok()) << found.status.error_message();
    const std::vector<uint32_t> objects = Fetched<uint32_t>("objects");
    const std::vector<int64_t> expected_objects = LoadBalance(Counts(intervals)).first;
    EXPECT_TRUE(std::equal(objects.begin(), objects.end(), expected_objects.begin(), expected_objects.end()));
  }
}

TEST_P(IntervalsOn, AreGatheredFromAllParts) {
  Start(GetParam(), 0, kPlenty);
  const std::vector<int32_t> source = Keys(5000);
  const std::vector<int64_t> offsets = {0, 4999, 1000, 5000, 0, 2500, 1}, counts = {5000, 1, 0, 0, 3, 2500, 4998};
  std::vector<int32_t> expected;
  for (size_t i = 0; i < counts.size(); ++i) {
    expected.insert(expected.end(), source.begin() + offsets[i], source.begin() + offsets[i] + counts[i]);
  }
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Int32s(source);
  *request.mutable_source_offsets() = Int64s(offsets);
  *request.mutable_counts() = Int64s(counts);
  Answer<v1::GatherIntervalsResponse> answer = AnswerOn(GetParam(), [&] { return Gathered(request); });
  EXPECT_TRUE(Elements<int32_t>(answer.response.result()) == expected);
  ASSERT_TRUE(Store("source", source).ok());
  *request.mutable_source() = Kept("source");
  answer = Gathered(request);
  EXPECT_EQ(answer.devices(), GetParam()) << answer.status.error_message();
  EXPECT_TRUE(Elements<int32_t>(answer.response.result()) == expected);
  *request.mutable_destination() = KeptAs("rows", /*sharded=*/true);
  EXPECT_EQ(Gathered(request).devices(), GetParam());
  EXPECT_TRUE(Fetched("rows") == expected);
  // Short intervals pay only where they must.
  *request.mutable_source_offsets() = Int64s(std::vector<int64_t>(5000, 7));
  *request.mutable_counts() = Int64s(std::vector<int64_t>(5000, 1));
  EXPECT_EQ(Gathered(request).devices(), GetParam());
  EXPECT_TRUE(Fetched("rows") == std::vector<int32_t>(5000, source[7]));
  request.clear_destination();
  *request.mutable_source() = Int32s(source);
  AnswerOn(1, [&] { return Gathered(request); });
  EXPECT_GE(Shared("gather_intervals"), 4);
}

TEST_P(IntervalsOn, AreMovedBetweenAllParts) {
  Start(GetParam(), 0, kPlenty);
  const std::vector<int32_t> source = Keys(5000), before = Keys(6000, 9);
  const std::vector<int64_t> from = {0, 4999, 1000, 2500, 10}, to = {1000, 0, 6000, 500, 4000},
                             counts = {2600, 1, 0, 400, 1999};
  std::vector<int32_t> expected = before, scattered(6000, 0);
  int64_t taken = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::copy_n(source.begin() + from[i], counts[i], expected.begin() + to[i]);
    std::copy_n(source.begin() + taken, counts[i], scattered.begin() + to[i]);
    taken += counts[i];
  }
  v1::MoveIntervalsRequest request;
  *request.mutable_source() = Int32s(source);
  *request.mutable_source_offsets() = Int64s(from);
  *request.mutable_destination_offsets() = Int64s(to);
  *request.mutable_counts() = Int64s(counts);
  *request.mutable_destination() = Int32s(before);
  Answer<v1::MoveIntervalsResponse> answer = AnswerOn(GetParam(), [&] { return Moved(request); });
  EXPECT_TRUE(Elements<int32_t>(answer.response.result()) == expected);
  ASSERT_TRUE(Store("source", source).ok());
  ASSERT_TRUE(Store("rows", before).ok());
  *request.mutable_source() = Kept("source");
  *request.mutable_destination() = Kept("rows");
  *request.mutable_result_destination() = KeptAs("rows", /*sharded=*/true);
  EXPECT_EQ(Moved(request).devices(), GetParam());
  EXPECT_TRUE(Fetched("rows") == expected) << "in place of the destination itself";
  *request.mutable_destination_offsets() = Int64s({1000, 0, 6000, 500, 3599});
  answer = Moved(request);
  EXPECT_EQ(BadField(answer.status), "destination_offsets[4]");
  EXPECT_TRUE(Fetched("rows") == expected) << "as it was";
  v1::ScatterIntervalsRequest scatter;
  *scatter.mutable_source() = Int32s({source.begin(), source.begin() + taken});
  *scatter.mutable_destination_offsets() = Int64s(to);
  *scatter.mutable_counts() = Int64s(counts);
  scatter.set_destination_count(6000);
  Answer<v1::ScatterIntervalsResponse> back = AnswerOn(GetParam(), [&] { return Scattered(scatter); });
  EXPECT_TRUE(Elements<int32_t>(back.response.result()) == scattered);
  *scatter.mutable_result_destination() = KeptAs("rows", /*sharded=*/true);
  EXPECT_EQ(Scattered(scatter).devices(), GetParam());
  EXPECT_TRUE(Fetched("rows") == scattered);
  EXPECT_GE(Shared("move_intervals"), 2);
  EXPECT_GE(Shared("scatter_intervals"), 2);
}

INSTANTIATE_TEST_SUITE_P(OnSeveralDevices, IntervalsOn, ::testing::Values(2, 3, 8));

TEST_F(ShardedIntervalsTest, NeedLinksWhereDevicesReadAllParts) {
  are_linked_ = false;
  Start(3, 0, kPlenty);
  const std::vector<int32_t> values = Keys(5000);
  Answer<v1::ExpandIntervalsResponse> expanded = AnswerOn(3, [&] { return Expand(RequestOf(values, Counts(5000))); });
  EXPECT_TRUE(Elements<int32_t>(expanded.response.values()) == Repeated(values, Counts(5000)));
  v1::GatherIntervalsRequest gather;
  *gather.mutable_source() = Int32s(values);
  *gather.mutable_source_offsets() = Int64s({0, 1000});
  *gather.mutable_counts() = Int64s({5000, 4000});
  AnswerOn(1, [&] { return Gathered(gather); });
  v1::StoredArray stored;
  ASSERT_TRUE(Store("parts", Int32s(values), /*sharded=*/true, &stored).ok());
  EXPECT_EQ(stored.shards(), 1) << "its other parts would be out of reach";
}

TEST_F(ShardedIntervalsTest, AnswerWithMoreThanADeviceHolds) {
  Start();
  const std::vector<int32_t> values = Keys(14'000);
  ASSERT_TRUE(Store("values", values).ok());
  v1::ExpandIntervalsRequest request = RequestOf({}, std::vector<int64_t>(14'000, 1));
  *request.mutable_values() = Kept("values");
  *request.mutable_destination() = KeptAs("rows", /*sharded=*/true);
  ASSERT_TRUE(Expand(request).status.ok());
  EXPECT_TRUE(Fetched("rows") == values);
}

TEST_F(ShardedIntervalsTest, TakeOneDeviceWhereOthersCannotHelp) {
  Start();
  SharedObject object(1 << 20);
  ASSERT_TRUE(memory_->Register(object).ok());
  const auto devices_of = [this](const v1::ExpandIntervalsRequest& request) {
    AwaitIdle();
    return Expand(request).devices();
  };
  EXPECT_EQ(devices_of(RequestOf(Keys(10), Counts(10))), 1) << "too small";
  EXPECT_EQ(devices_of(RequestOf(Keys(5000), std::vector<int64_t>(5000, 0))), 1) << "of no rows";
  EXPECT_EQ(devices_of(RequestOf(Keys(5000), std::vector<int64_t>(5000, 9))), 1) << "short intervals";
  v1::ExpandIntervalsRequest request = RequestOf({}, Counts(5000));
  const std::vector<int32_t> values = Keys(5000), expected = Repeated(values, Counts(5000));
  std::copy(values.begin(), values.end(), object.As<int32_t>());
  *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_INT32, 5000, 0);
  *request.mutable_destination() = ToRegion(4 * 1000);
  EXPECT_EQ(devices_of(request), 1) << "its result lies where the values are";
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), object.As<int32_t>(4 * 1000)));
  ASSERT_TRUE(Store("whole", values, /*sharded=*/false).ok());
  *request.mutable_values() = Kept("whole");
  EXPECT_EQ(devices_of(request), 1) << "its values are on one";
  EXPECT_EQ(Shared("expand_intervals"), 0);
  v1::ScatterIntervalsRequest scatter;
  *scatter.mutable_source() = Int32s(values);
  *scatter.mutable_destination_offsets() = Int64s({0, 2500});
  *scatter.mutable_counts() = Int64s({2500, 2500});
  scatter.set_destination_count(5000);
  AnswerOn(3, [&] { return Scattered(scatter); });
  std::vector<int64_t> offsets(5000);
  std::iota(offsets.begin(), offsets.end(), 0);
  *scatter.mutable_destination_offsets() = Int64s(offsets);
  *scatter.mutable_counts() = Int64s(std::vector<int64_t>(5000, 1));
  AnswerOn(1, [&] { return Scattered(scatter); });  // of short intervals
}

TEST_F(ShardedIntervalsTest, LieInSharedMemory) {
  Start(3);
  SharedObject object(1 << 20);
  ASSERT_TRUE(memory_->Register(object).ok());
  const std::vector<int32_t> values = Keys(5000), expected = Repeated(values, Counts(5000));
  std::copy(values.begin(), values.end(), object.As<int32_t>());
  const std::vector<int64_t> counts = Counts(5000);
  std::copy(counts.begin(), counts.end(), object.As<int64_t>(20'000));
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_INT32, 5000, 0);
  *request.mutable_counts() = InRegion(v1::ELEMENT_TYPE_INT64, 5000, 20'000);
  *request.mutable_destination() = ToRegion(100'000);
  AnswerOn(3, [&] { return Expand(request); });
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), object.As<int32_t>(100'000)));
}

TEST_F(ShardedIntervalsTest, AreOffWhereRequestsMayTakeOneDevice) {
  Start(2, /*devices_per_request=*/1);
  AnswerOn(1, [this] { return Expand(RequestOf(Keys(5000), Counts(5000))); });
  EXPECT_EQ(Shared("expand_intervals"), 0);
}

TEST_F(ShardedIntervalsTest, TryAgainWhenMemoryRunsShort) {
  Start(3);
  const std::vector<int32_t> expected = Repeated(Keys(3000), Counts(3000));
  RunShortInEachCall(
      3, [&] { return Expand(RequestOf(Keys(3000), Counts(3000))); },
      [&](const Answer<v1::ExpandIntervalsResponse>& answer) {
        ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
        EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == expected);
      });
}

TEST_F(ShardedIntervalsTest, AreNeverMovedAgainOntoTheirDestinationWhenMemoryRunsShort) {
  Start(3);
  SharedObject object(1 << 20);
  ASSERT_TRUE(memory_->Register(object).ok());
  const std::vector<int32_t> before = Keys(6000), source = Keys(3000, 5);
  std::vector<int32_t> expected = before;
  std::copy(source.begin(), source.end(), expected.begin() + 2000);
  v1::MoveIntervalsRequest request;
  *request.mutable_source() = Int32s(source);
  *request.mutable_source_offsets() = Int64s({0, 1000});
  *request.mutable_destination_offsets() = Int64s({2000, 3000});
  *request.mutable_counts() = Int64s({1000, 2000});
  *request.mutable_destination() = InRegion(v1::ELEMENT_TYPE_INT32, 6000, 0);
  *request.mutable_result_destination() = ToRegion(0);
  RunShortInEachCall(
      3,
      [&] {
        std::copy(before.begin(), before.end(), object.As<int32_t>());
        return Moved(request);
      },
      [&](const Answer<v1::MoveIntervalsResponse>& answer) {
        if (!answer.status.ok()) {
          EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << answer.status.error_message();
          return;
        }
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), object.As<int32_t>()));
      });
}

TEST_F(ShardedIntervalsTest, FailWithADeviceThatIsLostAndTheOthersServeOn) {
  Start();
  const v1::ExpandIntervalsRequest request = RequestOf(Keys(5000), Counts(5000));
  AnswerOn(3, [&] { return Expand(request); });
  LoseADeviceOf([&] { return Expand(request); });
  const std::vector<int32_t> expected = Repeated(Keys(5000), Counts(5000));
  for (int i = 0; i < 5; ++i) {
    const Answer<v1::ExpandIntervalsResponse> answer = Expand(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(Elements<int32_t>(answer.response.values()) == expected);
  }
  EXPECT_FALSE(running_->server().device_lost());
}

// Bytes that go in and come out.
struct Traffic {
  double in, out, intervals;
  double bytes() const { return in + out; }
};

// Milliseconds by rates of H200s: a bus of 53 GB/s each way, kernels of 1 TB/s. The host reads a count in 0.65 ns and
// enqueues a tile in 50 us; the first tile and the streams of several devices take 0.3 ms.
constexpr double kBus = 53e6, kRead = 0.65e-6, kStart = 0.3;
double TilesOf(const Traffic& traffic) { return traffic.out / (16 << 20) * 0.05; }

// Copies in, works and copies out in turn.
double OnOne(const Traffic& traffic) { return traffic.bytes() / kBus + traffic.bytes() / 1e9; }

// The last part begins when the host has read the counts of all before. Then the host reads counts, cuts intervals and
// enqueues tiles while bytes go in and out.
double Expanded(const Traffic& traffic, int devices, double cut) {
  const double read = traffic.intervals * kRead, bus = std::max(traffic.in, traffic.out) / kBus / devices;
  return read * (devices - 1) / devices + std::max(bus, read + cut + TilesOf(traffic)) + kStart;
}
double Expanded(const Traffic& traffic, int devices) { return Expanded(traffic, devices, /*cut=*/0); }

// The source goes in before.
double Gathered(const Traffic& traffic, int devices) {
  const double cut = traffic.intervals * (5 + 4 * std::log2(devices)) * 1e-6;
  return traffic.in / kBus / devices + Expanded({0, traffic.out, traffic.intervals}, devices, cut);
}

// The source goes in, the host cuts the intervals, the elements move over the links at 134 GB/s, and all come out.
double Moved(const Traffic& traffic, int devices) {
  const double cut = traffic.intervals * (11 + 6 * std::log2(devices)) * 1e-6;
  return traffic.bytes() / kBus / devices + cut + traffic.out / 134e6 / devices + kStart;
}

// `of_input`: the fraction of the bytes that goes in. `interval_bytes`: of arrays and results, for each interval.
void ExpectToPay(double of_input, double interval_bytes, int64_t cost, double (*on_several)(const Traffic&, int)) {
  const std::vector<uint64_t> links(8, 0xFF);
  for (int most = 2; most <= 8; ++most) {
    PlannerOptions options;
    options.most_shards = most;
    for (int64_t bytes = int64_t{1} << 20; bytes < int64_t{1} << 38; bytes += bytes / 2) {
      const uint64_t shards = ChooseShards(bytes, {/*arrays=*/2, Exchange::kReads, cost}, 0xFF, links, options);
      EXPECT_EQ(shards != 0, bytes >= (cost << 26));
      if (shards == 0) continue;
      const auto all = static_cast<double>(bytes);
      const Traffic traffic{all * of_input, all * (1 - of_input), all / interval_bytes};
      EXPECT_LT(on_several(traffic, DeviceSet::Count(shards)), OnOne(traffic))
          << bytes << " bytes, " << interval_bytes << " for each interval, " << of_input << " of them inputs, on "
          << DeviceSet::Count(shards);
    }
  }
}

TEST(SharingIntervals, PaysWhereItIsChosen) {
  for (const double counts : {1.0, 0.25, 0.03, 0.001}) {  // for each row
    for (const double element_bytes : {1.0, 4.0, 100.0}) {
      const double in = counts * (8 + element_bytes), bytes = in + element_bytes;
      if (bytes / counts < IntervalOperation::kLeastSharedBytes) continue;
      ExpectToPay(in / bytes, bytes / counts, /*cost=*/1, Expanded);
    }
  }
  for (const double of_input : {0.05, 0.5, 0.95}) {
    for (const int times : {1, 3, 100}) {
      ExpectToPay(of_input, times * MoveOperation::kLeastGatheredBytes, /*cost=*/1, Gathered);
      ExpectToPay(of_input, times * MoveOperation::kLeastMovedBytes, ShardedMove::kCost, Moved);
    }
  }
}

}  // namespace
}  // namespace corank::testing
