// Intervals on several devices, compared with rows that are made, or copied, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/run/device_ops/expand.h"
#include "server/run/device_ops/load_balance.h"
#include "server/run/device_ops/move.h"
#include "server/run/device_ops/sharded_intervals.h"
#include "tests/server/sharing_devices.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kOneTile = int64_t{1} << 30;

Bytes BytesOf(const std::vector<int64_t>& numbers) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(numbers.data());
  return {bytes, bytes + numbers.size() * sizeof(int64_t)};
}

struct Case {
  std::vector<int64_t> counts;
  int devices = 2;
  int64_t tile_bytes = kOneTile;
  int element_bytes = 4;
  bool from_parts = false;  // the values, or the source, are sharded
  bool to_parts = false;    // and so is the result
  bool from_one = false;    // the values, or the source, lie on the last device

  int64_t total() const {
    int64_t total = 0;
    for (const int64_t count : counts) total += count;
    return total;
  }
};

// `intervals` counts that add up to about `rows`; a third of them is 0, and one may have most of the rows.
std::vector<int64_t> SomeCounts(int64_t intervals, int64_t rows, uint64_t seed, bool has_giant = false) {
  Random random(seed);
  std::vector<int64_t> counts(static_cast<size_t>(intervals));
  for (int64_t& count : counts) count = random.OneIn(3) ? 0 : random.Below(3 * rows / intervals + 1);
  if (has_giant) counts[static_cast<size_t>(random.Below(intervals))] = rows;
  return counts;
}

class ShardedIntervalsOn : public SharingDevicesTest {
 protected:
  static Operand OnHost(Bytes& place, const Bytes& bytes, v1::ElementType type, int element_bytes) {
    place.assign(1, 0);  // at an odd address, as in a message
    place.insert(place.end(), bytes.begin(), bytes.end());
    Operand operand;
    operand.type = type;
    operand.element_bytes = element_bytes;
    operand.count = static_cast<int64_t>(bytes.size()) / element_bytes;
    operand.bytes = place.data() + 1;
    return operand;
  }
  // The operation of a test, with its arrays.
  struct Work {
    Bytes counts, values, offsets;
    std::vector<std::unique_ptr<EngineMemory>> value_parts;
    std::unique_ptr<IntervalOperation> whole;
    std::vector<Bytes> expected;
  };

  std::shared_ptr<PartsInTest> TargetOf(const Case& test, int element_bytes) {
    if (!test.to_parts) return nullptr;
    return std::make_shared<PartsInTest>(PartsOf(test.total(), element_bytes, test.devices));
  }

  // Values in host memory or in parts.
  Operand ValuesOf(const Case& test, Bytes& values, Work& work) {
    Operand operand = OnHost(work.values, values, v1::ELEMENT_TYPE_RECORD, test.element_bytes);
    if (test.from_one) OnDevice(work.value_parts, values, test.devices - 1, operand);
    if (!test.from_parts) return operand;
    work.value_parts = PartsOf(operand.count, test.element_bytes, test.devices);
    InParts(work.value_parts, values, operand);
    return operand;
  }

  Work ExpandOf(const Case& test) {
    Work work;
    ExpandOperation::Spec spec;
    spec.counts = OnHost(work.counts, BytesOf(test.counts), v1::ELEMENT_TYPE_INT64, 8);
    Bytes values = MakeBytes(spec.counts.count * test.element_bytes, 5);
    spec.values = ValuesOf(test, values, work);
    spec.total = test.total();
    spec.target = TargetOf(test, test.element_bytes);
    std::vector<int64_t> from;
    for (size_t i = 0; i < test.counts.size(); ++i) {
      from.insert(from.end(), static_cast<size_t>(test.counts[i]), static_cast<int64_t>(i));
    }
    work.expected = {Gather(values, test.element_bytes, from)};
    work.whole = std::make_unique<ExpandOperation>(std::move(spec));
    return work;
  }

  Work GatherOf(const Case& test) {
    Work work;
    MoveOperation::Spec spec;
    spec.op = Operator::kGatherIntervals;
    spec.counts = OnHost(work.counts, BytesOf(test.counts), v1::ELEMENT_TYPE_INT64, 8);
    Random random(test.counts.size());
    int64_t source_count = random.Below(20);
    for (const int64_t count : test.counts) source_count = std::max(source_count, count + random.Below(20));
    std::vector<int64_t> offsets, from;
    for (const int64_t count : test.counts) {
      offsets.push_back(random.Below(source_count - count + 1));
      for (int64_t i = 0; i < count; ++i) from.push_back(offsets.back() + i);
    }
    Bytes source = MakeBytes(source_count * test.element_bytes, 7);
    spec.source = ValuesOf(test, source, work);
    spec.source_offsets = OnHost(work.offsets, BytesOf(offsets), v1::ELEMENT_TYPE_INT64, 8);
    spec.total = spec.result_count = test.total();
    spec.target = TargetOf(test, test.element_bytes);
    work.expected = {Gather(source, test.element_bytes, from)};
    work.whole = std::make_unique<MoveOperation>(std::move(spec));
    return work;
  }

  Work LoadBalanceOf(const Case& test) {
    Work work;
    LoadBalanceOperation::Spec spec;
    spec.counts = OnHost(work.counts, BytesOf(test.counts), v1::ELEMENT_TYPE_INT64, 8);
    spec.total = test.total();
    spec.objects_target = TargetOf(test, 4);
    spec.ranks_target = TargetOf(test, 4);
    const auto [objects, ranks] = LoadBalance(test.counts);
    work.expected = {IndexArray(objects, 4), IndexArray(ranks, 4)};
    work.whole = std::make_unique<LoadBalanceOperation>(std::move(spec));
    return work;
  }

  void Check(const Case& test) {
    if (IsSkipped()) return;
    for (const bool is_late : {false, true}) {
      if (is_late && engine(0).info().kind != EngineKind::kCpu) continue;
      for (const Operator op : {Operator::kExpandIntervals, Operator::kLoadBalance, Operator::kGatherIntervals}) {
        SCOPED_TRACE(::testing::Message()
                     << "operator " << static_cast<int>(op) << " intervals=" << test.counts.size()
                     << " rows=" << test.total() << " devices=" << test.devices << " tile_bytes=" << test.tile_bytes
                     << " element_bytes=" << test.element_bytes << " from_parts=" << test.from_parts
                     << " to_parts=" << test.to_parts << " is_late=" << is_late);
        CheckOn(test, WorkOf(op, test), is_late);
      }
    }
  }
  Work WorkOf(Operator op, const Case& test) {
    if (op == Operator::kGatherIntervals) return GatherOf(test);
    return op == Operator::kExpandIntervals ? ExpandOf(test) : LoadBalanceOf(test);
  }

  void CheckOn(const Case& test, Work work, bool is_late) {
    ASSERT_TRUE(ShardedIntervals::Takes(*work.whole) || test.total() == 0);
    ShardedIntervals sharded(std::move(work.whole), Mask(test.devices), test.tile_bytes);
    CountedLane lane(engines_, is_late);
    corank::Outcome outcome;
    const absl::Status done = sharded.Execute(lane, outcome);
    ASSERT_TRUE(done.ok()) << done;
    EXPECT_EQ(outcome.stats.devices(), test.devices);
    EXPECT_TRUE(ResultsOf(outcome) == work.expected);
    EXPECT_EQ(lane.open_streams(), 0);
    EXPECT_LE(lane.bytes(), sharded.device_bytes(*engines_.front()));
    EXPECT_LE(lane.host_bytes(), sharded.host_bytes());
  }
};

TEST_F(ShardedIntervalsOn, HaveAnyNumberOfRows) {
  for (const int64_t rows : {0, 1, 2, 3, 7, 8, 9, 64, 1000, 4097, 20'011}) {
    for (const int devices : {1, 2, 3, 5, 8}) {
      for (const int64_t intervals : {int64_t{1}, rows / 7 + 1, 2 * rows + 1}) {
        Check({SomeCounts(intervals, rows, 1 + static_cast<uint64_t>(rows)), devices, 500});
      }
    }
  }
}

TEST_F(ShardedIntervalsOn, HaveTilesOfAnySize) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{13}, int64_t{1000}, int64_t{50'000}, kOneTile}) {
    const int64_t rows = tile_bytes < 1000 ? 300 : 30'000;
    for (const int devices : {1, 3}) {
      for (const bool has_giant : {false, true}) {
        for (const int64_t intervals : {int64_t{5}, rows / 10, 4 * rows}) {
          Check({SomeCounts(intervals, rows, 4, has_giant), devices, tile_bytes});
        }
      }
    }
  }
}

TEST_F(ShardedIntervalsOn, MayBeAllInOneOrInTheFirstOrInTheLast) {
  for (const int64_t rows : {1, 7, 3001}) {
    for (const size_t at : {0, 1, 499, 998, 999}) {
      std::vector<int64_t> counts(1000, 0);
      counts[at] = rows;
      for (const int devices : {2, 8}) Check({counts, devices, 900});
    }
  }
}

TEST_F(ShardedIntervalsOn, TakeValuesOfAnyWidth) {
  for (const int element_bytes : {1, 2, 3, 4, 5, 8, 12, 16, 100, 256}) {
    Check({SomeCounts(900, 5000, 6), 3, 2000, element_bytes});
  }
}

TEST_F(ShardedIntervalsOn, MayLieInParts) {
  for (const int devices : {1, 2, 3, 8}) {
    for (const int64_t intervals : {1, 2, 7, 8, 9, 1000}) {
      for (const int element_bytes : {3, 8}) {
        for (const auto& [from_parts, to_parts] :
             std::vector<std::pair<bool, bool>>{{true, false}, {false, true}, {true, true}}) {
          for (const bool has_giant : {false, true}) {
            Check({SomeCounts(intervals, 2500, 8, has_giant), devices, 700, element_bytes, from_parts, to_parts});
          }
        }
      }
    }
  }
  for (const int64_t intervals : {1, 8, 1000}) {
    Check({SomeCounts(intervals, 2500, 8), 3, 700, 8, /*from_parts=*/false, /*to_parts=*/true, /*from_one=*/true});
  }
  Check({std::vector<int64_t>(100, 0), 3, 700, 4, /*from_parts=*/true, /*to_parts=*/true});
  Check({{}, 3, 700, 4, /*from_parts=*/true, /*to_parts=*/true});
}

// A Move or a Scatter, and where its arrays lie.
struct MoveTest {
  std::vector<int64_t> counts;
  int devices = 2;
  int64_t tile_bytes = kOneTile;
  int element_bytes = 4;
  bool from_parts = false;
  bool to_parts = false;
  bool is_scatter = false;
  bool has_initial = false;
  bool may_overlap = false;  // and does, with equal elements
  bool from_one = false;     // instead of parts, the last device has the arrays
};

class ShardedMovesOn : public ShardedIntervalsOn {
 protected:
  struct MoveWork {
    Bytes counts, source_offsets, destination_offsets, source, initial;
    std::vector<std::vector<std::unique_ptr<EngineMemory>>> parts;
    MoveOperation::Spec spec;
    Bytes expected;
  };

  // Intervals in any order, with some elements between them.
  MoveWork WorkOf(const MoveTest& test) {
    MoveWork work;
    MoveOperation::Spec& spec = work.spec;
    Random random(test.counts.size() + 3);
    std::vector<size_t> order(test.counts.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      std::swap(order[i], order[static_cast<size_t>(random.Below(static_cast<int64_t>(i) + 1))]);
    }
    std::vector<int64_t> to(test.counts.size()), from(test.counts.size());
    int64_t end = random.Below(3), longest = 0;
    for (const size_t i : order) {
      to[i] = end;
      end += test.counts[i] + random.Below(3);
      longest = std::max(longest, test.counts[i]);
    }
    int64_t source_count = test.is_scatter ? 0 : longest + random.Below(100);
    for (size_t i = 0; i < from.size(); ++i) {
      from[i] = test.is_scatter ? source_count : random.Below(source_count - test.counts[i] + 1);
      if (test.is_scatter) source_count += test.counts[i];
    }
    if (test.may_overlap) std::fill(to.begin(), to.end(), 0);
    const Bytes source = test.may_overlap ? Bytes(static_cast<size_t>(source_count * test.element_bytes), 7)
                                          : MakeBytes(source_count * test.element_bytes, 1);
    const Bytes initial = test.has_initial ? MakeBytes(end * test.element_bytes, 2)
                                           : Bytes(static_cast<size_t>(end * test.element_bytes), 0);
    spec.op = test.is_scatter ? Operator::kScatterIntervals : Operator::kMoveIntervals;
    const auto take = [&](Bytes& place, const Bytes& bytes) {
      Operand operand = OnHost(place, bytes, v1::ELEMENT_TYPE_RECORD, test.element_bytes);
      if (test.from_one) OnDevice(work.parts.emplace_back(), bytes, test.devices - 1, operand);
      if (!test.from_parts) return operand;
      work.parts.push_back(PartsOf(operand.count, test.element_bytes, test.devices));
      InParts(work.parts.back(), bytes, operand);
      return operand;
    };
    spec.source = take(work.source, source);
    if (test.has_initial) spec.initial = take(work.initial, initial);
    spec.counts = OnHost(work.counts, BytesOf(test.counts), v1::ELEMENT_TYPE_INT64, 8);
    if (!test.is_scatter) spec.source_offsets = OnHost(work.source_offsets, BytesOf(from), v1::ELEMENT_TYPE_INT64, 8);
    spec.destination_offsets = OnHost(work.destination_offsets, BytesOf(to), v1::ELEMENT_TYPE_INT64, 8);
    for (const int64_t count : test.counts) spec.total += count;
    spec.result_count = end;
    spec.check_overlap = !test.may_overlap;
    if (test.to_parts) {
      spec.target = std::make_shared<PartsInTest>(PartsOf(end, test.element_bytes, test.devices));
    }
    work.expected = Move(source, initial, test.element_bytes, from, to, test.counts);
    return work;
  }

  void Check(const MoveTest& test) {
    if (IsSkipped()) return;
    for (const bool is_late : {false, true}) {
      if (is_late && engine(0).info().kind != EngineKind::kCpu) continue;
      SCOPED_TRACE(::testing::Message() << "intervals=" << test.counts.size() << " devices=" << test.devices
                                        << " tile_bytes=" << test.tile_bytes << " element_bytes=" << test.element_bytes
                                        << " from_parts=" << test.from_parts << " to_parts=" << test.to_parts
                                        << " is_scatter=" << test.is_scatter << " has_initial=" << test.has_initial
                                        << " is_late=" << is_late);
      MoveWork work = WorkOf(test);
      auto whole = std::make_unique<MoveOperation>(work.spec);
      ASSERT_TRUE(ShardedMove::Takes(*whole) || work.spec.result_count == 0);
      ShardedMove sharded(std::move(whole), Mask(test.devices), test.tile_bytes);
      CountedLane lane(engines_, is_late);
      corank::Outcome outcome;
      const absl::Status done = sharded.Execute(lane, outcome);
      ASSERT_TRUE(done.ok()) << done;
      EXPECT_EQ(outcome.stats.devices(), test.devices);
      EXPECT_TRUE(ResultsOf(outcome).at(0) == work.expected);
      EXPECT_EQ(lane.open_streams(), 0);
      EXPECT_LE(lane.bytes(), sharded.device_bytes(*engines_.front()));
      EXPECT_LE(lane.host_bytes(), sharded.host_bytes());
    }
  }
};

TEST_F(ShardedMovesOn, CopyAnyNumberOfIntervals) {
  for (const int64_t intervals : {0, 1, 2, 3, 8, 100, 2000}) {
    for (const int devices : {1, 2, 3, 8}) {
      for (unsigned bits = 0; bits < 16; ++bits) {
        MoveTest test{SomeCounts(intervals, 3 * intervals + 5, 3, bits % 3 == 0 && intervals > 0), devices, 2000};
        test.from_parts = (bits & 1U) != 0;
        test.to_parts = (bits & 2U) != 0;
        test.from_one = test.to_parts && !test.from_parts;
        test.is_scatter = (bits & 4U) != 0;
        test.has_initial = (bits & 8U) != 0;
        Check(test);
      }
    }
  }
}

TEST_F(ShardedMovesOn, CutIntervalsInTilesOfAnySize) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{500}, int64_t{40'000}, kOneTile}) {
    for (const int element_bytes : {1, 3, 8, 256}) {
      for (const bool is_scatter : {false, true}) {
        MoveTest test{SomeCounts(300, 2000, 5), 3, tile_bytes, element_bytes};
        test.is_scatter = is_scatter;
        Check(test);
      }
    }
  }
}

TEST_F(ShardedMovesOn, MayOverlapWhereThatIsAllowed) {
  MoveTest test{std::vector<int64_t>(500, 9), 3, 3000};
  test.may_overlap = true;
  Check(test);
}

TEST_F(ShardedMovesOn, NameTheFirstOverlapBeforeTheyWriteAnything) {
  if (IsSkipped()) return;
  for (const int devices : {2, 3, 8}) {
    Random random(4);
    for (int round = 0; round < 20; ++round) {
      MoveTest test{std::vector<int64_t>(200, 5), devices, 2000};
      MoveWork work = WorkOf(test);
      std::vector<int64_t> to(200);
      std::memcpy(to.data(), work.destination_offsets.data() + 1, to.size() * sizeof(int64_t));
      const auto moved = static_cast<size_t>(random.Below(200));
      to[moved] = std::max<int64_t>(0, to[static_cast<size_t>(random.Below(200))] - random.Below(5));
      std::memcpy(work.destination_offsets.data() + 1, to.data(), to.size() * sizeof(int64_t));
      const auto expected = FirstOverlap(to, test.counts);
      ShardedMove sharded(std::make_unique<MoveOperation>(work.spec), Mask(devices));
      CountedLane lane(engines_);
      corank::Outcome outcome;
      const absl::Status done = sharded.Execute(lane, outcome);
      ASSERT_EQ(done.ok(), !expected) << done;
      EXPECT_EQ(lane.open_streams(), 0);
      if (!expected) continue;
      EXPECT_EQ(done.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(done.message()),
                  ::testing::HasSubstr("interval " + std::to_string(expected->second) + " overlaps interval " +
                                       std::to_string(expected->first) + " "));
    }
  }
}

TEST_F(ShardedMovesOn, LeaveNothingInProgressWhateverFails) {
  MoveTest test{SomeCounts(400, 3000, 9), 3, 2000};
  test.has_initial = true;
  for (int64_t calls = 0; !IsSkipped(); ++calls) {
    MoveWork work = WorkOf(test);
    ShardedMove sharded(std::make_unique<MoveOperation>(work.spec), Mask(test.devices), test.tile_bytes);
    CountedLane lane(engines_);
    lane.calls().left = calls;
    corank::Outcome outcome;
    const absl::Status done = sharded.Execute(lane, outcome);
    ASSERT_EQ(lane.open_streams(), 0) << calls;
    if (done.ok()) {
      EXPECT_GT(calls, 50);
      EXPECT_TRUE(ResultsOf(outcome).at(0) == work.expected);
      break;
    }
    ASSERT_EQ(done, lane.calls().status) << calls;
    EXPECT_TRUE(outcome.results.empty());
  }
}

TEST_F(ShardedMovesOn, StopAsOtherIntervalsDoOnceADeviceHasFailed) {
  MoveWork moves = WorkOf({SomeCounts(400, 3000, 9), 2, 2000});
  ShardedMove sharded_move(std::make_unique<MoveOperation>(moves.spec), Mask(2), /*tile_bytes=*/2000);
  ExpectEndOnceADeviceHasFailed(sharded_move);
  Work work = ExpandOf({SomeCounts(500, 4000, 9), 2, 2000});
  ShardedIntervals sharded(std::move(work.whole), Mask(2), /*tile_bytes=*/2000);
  ExpectEndOnceADeviceHasFailed(sharded);
}

TEST_F(ShardedIntervalsOn, LeaveNothingInProgressWhateverFails) {
  Case test{SomeCounts(500, 4000, 9), 3, 2000};
  for (const Operator op : {Operator::kExpandIntervals, Operator::kGatherIntervals}) {
    test.to_parts = op == Operator::kExpandIntervals;
    for (int64_t calls = 0; !IsSkipped(); ++calls) {
      Work work = WorkOf(op, test);
      ShardedIntervals sharded(std::move(work.whole), Mask(test.devices), test.tile_bytes);
      CountedLane lane(engines_);
      lane.calls().left = calls;
      corank::Outcome outcome;
      const absl::Status done = sharded.Execute(lane, outcome);
      ASSERT_EQ(lane.open_streams(), 0) << calls;
      if (done.ok()) {
        EXPECT_GT(calls, 50);
        EXPECT_TRUE(ResultsOf(outcome) == work.expected);
        break;
      }
      ASSERT_EQ(done, lane.calls().status) << calls;
      EXPECT_TRUE(outcome.results.empty());
    }
  }
}

TEST_F(ShardedIntervalsOn, MayBeMadeAgain) {
  Work work = GatherOf({SomeCounts(500, 4000, 9), 3});
  ShardedIntervals sharded(std::move(work.whole), Mask(3));
  for (int run = 0; run < 2 && !IsSkipped(); ++run) {
    CountedLane lane(engines_);
    corank::Outcome outcome;
    ASSERT_TRUE(sharded.Execute(lane, outcome).ok());
    EXPECT_TRUE(ResultsOf(outcome) == work.expected);
  }
}

TEST_F(ShardedIntervalsOn, AnnounceLittleMoreMemoryThanTheyTake) {
  if (IsSkipped() || engine(0).info().kind != EngineKind::kCpu) return;
  for (const Operator op : {Operator::kExpandIntervals, Operator::kLoadBalance, Operator::kGatherIntervals}) {
    Work work = WorkOf(op, {SomeCounts(20'000, 40'000, 2), 3, 100'000, 8});
    ShardedIntervals sharded(std::move(work.whole), Mask(3), 100'000);
    CountedLane lane(engines_);
    corank::Outcome outcome;
    ASSERT_TRUE(sharded.Execute(lane, outcome).ok());
    EXPECT_GT(5 * lane.bytes(), sharded.device_bytes(*engines_.front())) << static_cast<int>(op);
    EXPECT_GE(5 * lane.host_bytes(), sharded.host_bytes()) << static_cast<int>(op);
  }
}

TEST_F(ShardedIntervalsOn, AreSharedWhereArraysAndResultsAreOnTheHostOrInParts) {
  const auto takes = [](void (*change)(ExpandOperation::Spec&)) {
    static const std::vector<int64_t> counts = {1, 2};
    ExpandOperation::Spec spec;
    spec.values.element_bytes = 4;
    spec.counts.element_bytes = 8;
    spec.values.count = spec.counts.count = 2;
    spec.counts.bytes = spec.values.bytes = counts.data();
    spec.total = 3;
    change(spec);
    return ShardedIntervals::Takes(ExpandOperation(spec));
  };
  EXPECT_TRUE(takes([](auto&) {}));
  EXPECT_FALSE(takes([](auto& spec) { spec.total = 0; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.values.on_device = true; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.values.stream_input = 0; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.counts.is_pending = true; }));
  EXPECT_TRUE(takes([](auto& spec) {
    spec.total = 0;
    spec.values.on_device = true;
    spec.values.shards = {nullptr, nullptr};
  }));
}

}  // namespace
}  // namespace corank::testing
