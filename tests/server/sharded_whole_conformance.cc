// Operators on one device whose arrays lie in parts on several, and operators on parts whose arrays lie on one device.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/run/device_ops/search.h"
#include "server/run/device_ops/select.h"
#include "server/run/device_ops/sharded_merge.h"
#include "server/run/device_ops/sharded_sort.h"
#include "tests/server/sharing_devices.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr KeyType kType = KeyType::kUint32;

Bytes SortedKeys(int64_t count, uint64_t seed) {
  const Bytes keys = MakeKeys(kType, Distribution::kSixteenDistinct, count, seed);
  return Gather(keys, 4, StableOrder(kType, Order::kAscending, keys));
}

class WholeConformance : public SharingDevicesTest {
 protected:
  Operand ArrayOf(int64_t count, int element_bytes) {
    Operand operand;
    operand.type = element_bytes == 4 ? v1::ELEMENT_TYPE_UINT32 : v1::ELEMENT_TYPE_RECORD;
    operand.element_bytes = element_bytes;
    operand.count = count;
    return operand;
  }
  // In parts on the devices, or all of it on the last one.
  Operand Placed(const Bytes& bytes, int element_bytes, int devices, bool in_parts) {
    Operand operand = ArrayOf(static_cast<int64_t>(bytes.size()) / element_bytes, element_bytes);
    auto& memory = memory_.emplace_back();
    if (in_parts) {
      memory = PartsOf(operand.count, element_bytes, devices);
      InParts(memory, bytes, operand);
    } else {
      OnDevice(memory, bytes, devices - 1, operand);
    }
    return operand;
  }
  std::shared_ptr<PartsInTest> TargetOf(int64_t count, int element_bytes, int devices) {
    return std::make_shared<PartsInTest>(PartsOf(count, element_bytes, devices));
  }
  std::vector<Bytes> Run(Operation& operation) {
    CountedLane lane(engines_);
    corank::Outcome outcome;
    const absl::Status done = operation.Execute(lane, outcome);
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_EQ(lane.open_streams(), 0);
    EXPECT_LE(lane.bytes(), operation.device_bytes(*engines_.front()));
    return done.ok() ? ResultsOf(outcome) : std::vector<Bytes>();
  }

  std::vector<std::vector<std::unique_ptr<EngineMemory>>> memory_;
};

TEST_F(WholeConformance, OneDeviceBringsPartsTogetherAndDividesResults) {
  if (IsSkipped()) return;
  for (const int devices : {1, 2, 3, 8}) {
    for (const int64_t count : {0, 1, 2, 7, 8, 9, 40'003}) {
      SCOPED_TRACE(::testing::Message() << devices << " devices, " << count << " elements");
      const Bytes haystack = SortedKeys(count, 3);
      const Bytes needles = MakeKeys(kType, Distribution::kSixteenDistinct, count / 2 + 1, 4);
      SearchOperation::Spec search;
      search.haystack = Placed(haystack, 4, devices, /*in_parts=*/true);
      search.needles = Placed(needles, 4, devices, /*in_parts=*/true);
      search.target = TargetOf(search.needles.count, 4, devices);
      SearchOperation searching(search);
      const Bytes positions = IndexArray(Bounds(kType, Order::kAscending, haystack, needles, SearchBound::kLower), 4);
      EXPECT_TRUE(Run(searching) == std::vector<Bytes>{positions});

      const Bytes threshold(haystack.begin(), haystack.begin() + (count == 0 ? 0 : 4));
      if (count == 0) continue;
      SelectOperation::Spec select;  // what is not the least, which only the run counts
      select.elements = Placed(needles, 4, devices, /*in_parts=*/true);
      select.by = SelectBy::kThreshold;
      select.predicate = Placed(threshold, 4, devices, /*in_parts=*/true);
      select.comparison = Comparison::kEqual;
      select.negate = true;
      select.wants_elements = true;
      select.elements_target = TargetOf(select.elements.count, 4, devices);
      std::vector<int64_t> chosen;
      const std::vector<bool> equal = CompareAll(Comparison::kEqual, kType, needles, threshold);
      for (size_t i = 0; i < equal.size(); ++i) {
        if (!equal[i]) chosen.push_back(static_cast<int64_t>(i));
      }
      SelectOperation selecting(select);
      EXPECT_TRUE(Run(selecting) == std::vector<Bytes>{Gather(needles, 4, chosen)});
    }
  }
}

TEST_F(WholeConformance, DevicesTakePartsOfArraysOnOneOfThem) {
  if (IsSkipped()) return;
  for (const int devices : {1, 2, 3, 8}) {
    for (const int64_t count : {0, 1, 2, 7, 8, 9, 40'003}) {
      SCOPED_TRACE(::testing::Message() << devices << " devices, " << count << " elements");
      const Bytes keys = MakeKeys(kType, Distribution::kSixteenDistinct, count, 5), values = MakeBytes(12 * count, 6);
      for (const bool keys_in_parts : {false, true}) {
        SortOperation::Spec sort;
        sort.keys = Placed(keys, 4, devices, keys_in_parts);
        sort.values = Placed(values, 12, devices, !keys_in_parts);
        sort.keys_target = TargetOf(count, 4, devices);
        sort.values_target = TargetOf(count, 12, devices);
        ASSERT_TRUE(ShardedSortOperation::Takes(sort));
        ShardedSortOperation sorting(sort, {Mask(devices)});
        const std::vector<int64_t> order = StableOrder(kType, Order::kAscending, keys);
        EXPECT_TRUE(Run(sorting) == std::vector<Bytes>({Gather(keys, 4, order), Gather(values, 12, order)}));
      }
      const Bytes first = SortedKeys(count, 7), second = SortedKeys(count / 2, 8);
      MergeOperation::Spec merge;
      merge.keys = {Placed(first, 4, devices, false), Placed(second, 4, devices, true)};
      merge.keys_target = TargetOf(count + count / 2, 4, devices);
      ASSERT_TRUE(ShardedMergeOperation::Takes(MergeOperation(merge)));
      ShardedMergeOperation merging(merge, Mask(devices));
      Bytes both = first;
      both.insert(both.end(), second.begin(), second.end());
      EXPECT_TRUE(Run(merging) ==
                  std::vector<Bytes>{Gather(both, 4, MergeOrder(kType, Order::kAscending, {first, second}))});
    }
  }
}

}  // namespace
}  // namespace corank::testing
