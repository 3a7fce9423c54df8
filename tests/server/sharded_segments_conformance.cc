// Sorts of segments on several devices, compared with std::stable_sort of each segment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/run/device_ops/sharded_segment_sort.h"
#include "tests/server/sharing_devices.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr KeyType kType = KeyType::kInt32;

struct Case {
  std::vector<int64_t> offsets;
  int devices = 2;
  int value_bytes = 0;
  bool want_indices = false;
  int64_t limit = -1;
  bool from_parts = false;
  bool to_parts = false;
  Order order = Order::kAscending;
};

// Segments of random lengths with `rows` rows together. A third is empty; `giant`: one has most of the rows.
std::vector<int64_t> Offsets(int64_t segments, int64_t rows, bool giant, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 1; i < segments; ++i) {
    const int64_t mean = (giant ? rows / 5 : rows) / segments;
    const int64_t count = random.OneIn(3) ? 0 : random.Below(3 * mean + 1);
    offsets.push_back(std::min(rows, offsets.back() + count));
  }
  offsets.push_back(rows);
  return offsets;
}

class SharedSegments : public SharingDevicesTest {
 protected:
  // On the host at any address, or in parts.
  Operand ArrayOf(const Bytes& bytes, v1::ElementType type, int element_bytes, const Case& test) {
    Bytes& place = places_.emplace_back(1, uint8_t{0});
    place.insert(place.end(), bytes.begin(), bytes.end());
    Operand operand;
    operand.type = type;
    operand.element_bytes = element_bytes;
    operand.count = static_cast<int64_t>(bytes.size()) / element_bytes;
    operand.bytes = place.data() + 1;
    if (!test.from_parts) return operand;
    memory_.push_back(PartsOf(operand.count, element_bytes, test.devices));
    InParts(memory_.back(), bytes, operand);
    return operand;
  }
  std::shared_ptr<PartsInTest> TargetOf(const Case& test, int64_t count, int element_bytes) {
    if (!test.to_parts) return nullptr;
    return std::make_shared<PartsInTest>(PartsOf(count, element_bytes, test.devices));
  }

  void Check(const Case& test) {
    if (IsSkipped()) return;
    const int64_t rows = test.offsets.back();
    SCOPED_TRACE(::testing::Message() << rows << " rows, " << test.offsets.size() - 1 << " segments, devices "
                                      << test.devices << ", value bytes " << test.value_bytes << ", indices "
                                      << test.want_indices << ", limit " << test.limit << ", from parts "
                                      << test.from_parts << ", to parts " << test.to_parts);
    const Bytes keys = MakeKeys(kType, Distribution::kSixteenDistinct, rows, 3);
    const Bytes values = MakeBytes(rows * test.value_bytes, 4);
    places_.clear();
    memory_.clear();
    SortOperation::Spec spec;
    spec.keys = ArrayOf(keys, v1::ELEMENT_TYPE_INT32, 4, test);
    spec.order = test.order;
    spec.limit = test.limit;
    spec.want_indices = test.want_indices;
    Bytes offsets(test.offsets.size() * sizeof(int64_t));
    std::memcpy(offsets.data(), test.offsets.data(), offsets.size());
    spec.segment_offsets = ArrayOf(offsets, v1::ELEMENT_TYPE_INT64, 8, {});
    if (test.value_bytes > 0) {
      spec.values = ArrayOf(values, v1::ELEMENT_TYPE_RECORD, test.value_bytes, test);
    }
    const std::vector<int64_t> order =
        FirstOfOrder(StableOrder(kType, test.order, keys, test.offsets), test.limit, test.offsets);
    const auto count = static_cast<int64_t>(order.size());
    std::vector<Bytes> expected = {Gather(keys, 4, order)};
    spec.keys_target = TargetOf(test, count, 4);
    if (test.value_bytes > 0) {
      expected.push_back(Gather(values, test.value_bytes, order));
      spec.values_target = TargetOf(test, count, test.value_bytes);
    }
    if (test.want_indices) {
      expected.push_back(IndexArray(order, 4));
      spec.indices_target = TargetOf(test, count, 4);
    }
    ShardedSegmentSort sorting(spec, Mask(test.devices));
    for (int run = 0; run < 2; ++run) {
      CountedLane lane(engines_);
      corank::Outcome outcome;
      const absl::Status done = sorting.Execute(lane, outcome);
      ASSERT_TRUE(done.ok()) << done;
      EXPECT_EQ(outcome.stats.devices(), test.devices);
      EXPECT_TRUE(ResultsOf(outcome) == expected);
      EXPECT_EQ(lane.open_streams(), 0);
      EXPECT_LE(lane.bytes(), sorting.device_bytes(*engines_.front()));
      EXPECT_LE(lane.host_bytes(), sorting.host_bytes());
    }
  }

  SortOperation::Spec FiftySegments() {
    places_.reserve(8);
    const std::vector<int64_t> offsets = Offsets(50, 3001, false, 10);
    SortOperation::Spec spec;
    spec.keys = ArrayOf(MakeKeys(kType, Distribution::kSixteenDistinct, 3001, 3), v1::ELEMENT_TYPE_INT32, 4, {});
    Bytes bytes(offsets.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), offsets.data(), bytes.size());
    spec.segment_offsets = ArrayOf(bytes, v1::ELEMENT_TYPE_INT64, 8, {});
    return spec;
  }

  std::vector<Bytes> places_;
  std::vector<std::vector<std::unique_ptr<EngineMemory>>> memory_;
};

TEST_F(SharedSegments, AreSortedWhereverTheyAreCut) {
  places_.reserve(8);
  for (const int64_t rows : {0, 1, 2, 3, 31, 32, 33, 20'011}) {
    for (const int64_t segments : {int64_t{1}, int64_t{2}, int64_t{7}, rows / 3 + 1, 2 * rows + 1}) {
      for (const int devices : {1, 2, 3, 8}) {
        for (const bool giant : {false, true}) {
          Case test{Offsets(segments, rows, giant, 5 + static_cast<uint64_t>(segments)), devices};
          Check(test);
          test.from_parts = test.to_parts = true;
          Check(test);
        }
      }
    }
  }
}

TEST_F(SharedSegments, TakeValuesAndMakeIndicesOfTheWholeArray) {
  places_.reserve(8);
  for (const int devices : {2, 3}) {
    for (const auto& [from_parts, to_parts] :
         std::vector<std::pair<bool, bool>>{{false, false}, {true, false}, {false, true}, {true, true}}) {
      for (const int value_bytes : {0, 1, 8, 12}) {
        Case test{Offsets(300, 9001, false, 8), devices, value_bytes, value_bytes == 0};
        test.from_parts = from_parts;
        test.to_parts = to_parts;
        test.order = Order::kDescending;
        Check(test);
      }
    }
  }
}

TEST_F(SharedSegments, ReturnTheFirstRowsOfEach) {
  places_.reserve(8);
  for (const int64_t limit : {0, 1, 5, 60, 10'000}) {
    for (const bool giant : {false, true}) {
      for (const bool to_parts : {false, true}) {
        Case test{Offsets(300, 9001, giant, 9), 3, 4};
        test.limit = limit;
        test.to_parts = to_parts;
        Check(test);
      }
    }
  }
}

TEST_F(SharedSegments, LeaveNothingInProgressWhateverFails) {
  if (IsSkipped()) return;
  ShardedSegmentSort sorting(FiftySegments(), Mask(3));
  for (int64_t call = 1;; ++call) {
    CountedLane lane(engines_);
    lane.calls().left = call - 1;
    corank::Outcome outcome;
    const absl::Status done = sorting.Execute(lane, outcome);
    EXPECT_EQ(lane.open_streams(), 0) << call;
    if (done.ok()) {
      EXPECT_GT(call, 50);
      break;
    }
  }
}

TEST_F(SharedSegments, AreLeftUnsortedOnceADeviceHasFailed) {
  if (IsSkipped()) return;
  ShardedSegmentSort sorting(FiftySegments(), Mask(2));
  ExpectEndOnceADeviceHasFailed(sorting);
}

TEST_F(SharedSegments, AreSharedWhereSeveralDevicesHelp) {
  if (IsSkipped()) return;
  places_.reserve(16);
  const auto takes = [this](const std::vector<int64_t>& offsets, bool from_parts = false) {
    Case test{offsets, 2};
    test.from_parts = from_parts;
    SortOperation::Spec spec;
    spec.keys = ArrayOf(Bytes(static_cast<size_t>(offsets.back()) * 4), v1::ELEMENT_TYPE_INT32, 4, test);
    Bytes bytes(offsets.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), offsets.data(), bytes.size());
    spec.segment_offsets = ArrayOf(bytes, v1::ELEMENT_TYPE_INT64, 8, {});
    return ShardedSegmentSort::Takes(SortOperation(spec));
  };
  EXPECT_TRUE(takes({0, 500, 1000}));
  EXPECT_TRUE(takes({0, 100, 600, 1000}));
  EXPECT_FALSE(takes({0, 1000})) << "one segment";
  EXPECT_FALSE(takes({0, 10, 1000})) << "most rows are in one";
  EXPECT_FALSE(takes({0, 0})) << "no rows";
  EXPECT_TRUE(takes({0, 1000}, /*from_parts=*/true)) << "its devices have no choice";
}

}  // namespace
}  // namespace corank::testing
