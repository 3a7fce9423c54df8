// Sorts of tables on several devices, compared with a stable sort of all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "server/run/device_ops/sharded_column_sort.h"
#include "server/run/device_ops/sharded_segment_sort.h"
#include "tests/server/sharing_devices.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

constexpr int64_t kOneTile = int64_t{1} << 30;

struct Case {
  std::vector<TestColumn> columns;
  int devices = 2;
  int64_t tile_bytes = kOneTile;
  int value_bytes = 0;
  bool want_columns = true;
  bool want_indices = false;
  int64_t limit = -1;
  bool from_parts = false;  // all arrays are sharded
  bool to_parts = false;    // and so are all results
  std::vector<int64_t> segment_offsets = {};
};

// Segments of random lengths. A third is empty.
std::vector<int64_t> Segments(int64_t rows, int64_t segments, uint64_t seed = 5) {
  Random random(seed);
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 1; i < segments; ++i) {
    const int64_t count = random.OneIn(3) ? 0 : random.Below(3 * rows / segments + 1);
    offsets.push_back(std::min(rows, offsets.back() + count));
  }
  offsets.push_back(rows);
  return offsets;
}

std::vector<bool> SomeNulls(int64_t rows, uint64_t seed) {
  Random random(seed);
  std::vector<bool> valid;
  for (int64_t row = 0; row < rows; ++row) valid.push_back(!random.OneIn(5));
  return valid;
}

TestColumn Numbers(KeyType type, Distribution distribution, int64_t rows, uint64_t seed = 1,
                   Order order = Order::kAscending) {
  return NumberColumn(type, order, MakeKeys(type, distribution, rows, seed));
}

TestColumn WithNulls(TestColumn column, uint64_t seed = 3, NullOrder nulls = NullOrder::kLast) {
  column.valid = SomeNulls(column.rows(), seed);
  column.nulls = nulls;
  return column;
}

class ShardedTables : public SharingDevicesTest {
 protected:
  // The arrays of a case, at odd addresses as in a message.
  struct Arrays {
    std::vector<std::unique_ptr<Bytes>> bytes;
    std::vector<std::vector<std::unique_ptr<EngineMemory>>> parts;
    ColumnSortOperation::Spec spec;

    Operand Add(const Bytes& from, v1::ElementType type, int32_t element_bytes) {
      bytes.push_back(std::make_unique<Bytes>(1));
      bytes.back()->insert(bytes.back()->end(), from.begin(), from.end());
      Operand operand;
      operand.type = type;
      operand.element_bytes = element_bytes;
      operand.count = static_cast<int64_t>(from.size()) / element_bytes;
      operand.bytes = bytes.back()->data() + 1;
      return operand;
    }
  };

  static Bytes Values(const Case& test) { return MakeBytes(test.columns.front().rows() * test.value_bytes, 9); }

  Arrays Place(const Case& test) {
    Arrays arrays;
    ColumnSortOperation::Spec& spec = arrays.spec;
    for (const TestColumn& from : test.columns) {
      ColumnSortOperation::Column& column = spec.columns.emplace_back();
      const bool is_number = from.kind == ColumnKind::kNumbers;
      column.data = arrays.Add(from.data, is_number ? static_cast<v1::ElementType>(from.type) : v1::ELEMENT_TYPE_RECORD,
                               from.row_bytes);
      if (!from.valid.empty()) {
        column.validity = arrays.Add(Bitmap(from.valid, /*rest=*/true), v1::ELEMENT_TYPE_UINT8, 1);
      }
      column.order = from.order;
      column.nulls = from.nulls;
      column.nans = from.nans;
    }
    if (test.value_bytes > 0) spec.values = arrays.Add(Values(test), v1::ELEMENT_TYPE_RECORD, test.value_bytes);
    spec.want_columns = test.want_columns;
    spec.want_indices = test.want_indices;
    spec.limit = test.limit;
    if (!test.segment_offsets.empty()) {
      Bytes offsets(test.segment_offsets.size() * sizeof(int64_t));
      std::memcpy(offsets.data(), test.segment_offsets.data(), offsets.size());
      spec.segment_offsets = arrays.Add(offsets, v1::ELEMENT_TYPE_INT64, sizeof(int64_t));
    }
    for (ColumnSortOperation::Column& column : spec.columns) column.result_count = spec.result_count();
    PlaceInParts(test, arrays);
    return arrays;
  }
  void PlaceInParts(const Case& test, Arrays& arrays) {
    ColumnSortOperation::Spec& spec = arrays.spec;
    const auto place = [&](Operand& array, std::shared_ptr<ResultTarget>& target, int64_t result_count) {
      if (test.to_parts) {
        target = std::make_shared<PartsInTest>(PartsOf(result_count, array.element_bytes, test.devices));
      }
      if (!test.from_parts) return;
      const auto* const bytes = static_cast<const uint8_t*>(array.bytes);
      arrays.parts.push_back(PartsOf(array.count, array.element_bytes, test.devices));
      InParts(arrays.parts.back(), Bytes(bytes, bytes + array.size_bytes()), array);
    };
    const int64_t rows = spec.result_count();
    for (ColumnSortOperation::Column& column : spec.columns) {
      if (column.validity) place(*column.validity, column.validity_target, ValidityBytes(rows));
      place(column.data, column.data_target, rows);
    }
    if (spec.values) place(*spec.values, spec.values_target, rows);
    if (spec.want_indices && test.to_parts) {
      spec.indices_target = std::make_shared<PartsInTest>(PartsOf(rows, 4, test.devices));
    }
  }

  static std::vector<Bytes> Expected(const Case& test) {
    const std::vector<int64_t> order =
        FirstOfOrder(StableRowOrder(test.columns, test.segment_offsets), test.limit, test.segment_offsets);
    std::vector<Bytes> results;
    for (const TestColumn& column : test.columns) {
      if (!test.want_columns) break;
      const TestColumn sorted = TakeRows(column, order);
      results.push_back(sorted.data);
      if (!column.valid.empty()) results.push_back(Bitmap(sorted.valid));
    }
    if (test.value_bytes > 0) results.push_back(Gather(Values(test), test.value_bytes, order));
    if (test.want_indices) results.push_back(IndexArray(order, 4));
    return results;
  }

  static std::unique_ptr<Operation> SortOf(const Case& test, const ColumnSortOperation::Spec& spec) {
    const uint64_t devices = Mask(test.devices);
    if (spec.segment_offsets) return std::make_unique<ShardedSegmentColumnSort>(spec, devices);
    return std::make_unique<ShardedColumnSortOperation>(spec, DeviceGroup{devices}, test.tile_bytes);
  }

  void Check(const Case& test) {
    CheckOn(test, /*is_late=*/false);
    if (engines_.front()->info().kind == EngineKind::kCpu) CheckOn(test, /*is_late=*/true);
  }

  void CheckOn(const Case& test, bool is_late) {
    SCOPED_TRACE(::testing::Message() << "rows=" << test.columns.front().rows() << " devices=" << test.devices
                                      << " tile_bytes=" << test.tile_bytes << " limit=" << test.limit
                                      << " from_parts=" << test.from_parts << " to_parts=" << test.to_parts
                                      << " is_late=" << is_late << " segments=" << test.segment_offsets.size());
    const Arrays arrays = Place(test);
    ASSERT_TRUE(arrays.spec.segment_offsets || ShardedColumnSortOperation::Takes(arrays.spec));
    const std::unique_ptr<Operation> sort = SortOf(test, arrays.spec);
    CountedLane lane(engines_, is_late);
    corank::Outcome outcome;
    const absl::Status done = sort->Execute(lane, outcome);
    ASSERT_TRUE(done.ok()) << done;
    EXPECT_EQ(outcome.stats.devices(), test.devices);
    EXPECT_TRUE(ResultsOf(outcome) == Expected(test));
    EXPECT_EQ(lane.open_streams(), 0);
    EXPECT_LE(lane.bytes(), sort->device_bytes(*engines_.front()));
    EXPECT_LE(lane.host_bytes(), sort->host_bytes());
  }
};

TEST_F(ShardedTables, SortEveryTypeWithNullsAndNansInEveryOrder) {
  constexpr int64_t kRows = 2501;
  int devices = 0;
  for (const KeyType type : kAllKeyTypes) {
    for (int variant = 0; variant < 12; ++variant) {
      SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " variant " << variant);
      TestColumn first = Numbers(type, Distribution::kSpecialFloats, kRows, 7,
                                 variant % 2 == 0 ? Order::kAscending : Order::kDescending);
      if (variant % 3 != 1) first.valid = SomeNulls(kRows, 8);
      first.nulls = variant / 2 % 2 == 0 ? NullOrder::kLast : NullOrder::kFirst;
      first.nans = static_cast<NanOrder>(variant / 4);
      Case test{{first, Numbers(KeyType::kInt8, Distribution::kSixteenDistinct, kRows, 9, Order::kDescending)}};
      test.devices = 1 + devices++ % kMostDevices;
      test.tile_bytes = variant % 2 == 0 ? 1000 : kOneTile;
      test.want_indices = variant % 4 < 2;
      test.value_bytes = test.want_indices ? 0 : 3;
      Check(test);
    }
  }
}

TEST_F(ShardedTables, KeepTheOrderOfEqualRowsAcrossParts) {
  for (int devices = 1; devices <= kMostDevices; ++devices) {
    for (const Distribution distribution : {Distribution::kAllEqual, Distribution::kSixteenDistinct}) {
      for (const bool with_nulls : {false, true}) {
        Case test{{Numbers(KeyType::kUint64, distribution, 3003)}, devices, 900};
        if (with_nulls) test.columns.front().valid = SomeNulls(3003, 4);
        test.want_indices = true;
        Check(test);
      }
    }
  }
}

TEST_F(ShardedTables, HaveAnyNumberOfRows) {
  for (const int64_t rows : {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 4097, 20011}) {
    for (const int devices : {1, 2, 3, 5, 8}) {
      for (const bool with_nulls : {false, true}) {
        TestColumn column = Numbers(KeyType::kInt32, Distribution::kZipf, rows, 2, Order::kDescending);
        Case test{{with_nulls ? WithNulls(column) : column}, devices, 500};
        test.want_indices = true;
        Check(test);
      }
    }
  }
}

TEST_F(ShardedTables, KeepTheirFirstRows) {
  constexpr int64_t kRows = 3001;
  for (const int devices : {1, 2, 3, 8}) {
    for (const int64_t limit : {int64_t{1}, int64_t{7}, int64_t{8}, int64_t{9}, int64_t{11}, int64_t{12}, int64_t{13},
                                int64_t{14}, int64_t{15}, kRows / 3, kRows - 1, kRows, kRows + 5}) {
      for (const bool with_nulls : {false, true}) {
        Case test{{Numbers(KeyType::kFloat32, Distribution::kSpecialFloats, kRows)}, devices, 2000};
        // First rows come from all parts.
        if (with_nulls) test.columns = {WithNulls(Numbers(KeyType::kUint32, Distribution::kUniform, kRows))};
        test.limit = limit;
        test.value_bytes = 12;
        Check(test);
        test.value_bytes = 0;
        test.want_indices = true;
        test.want_columns = false;
        Check(test);
      }
    }
  }
}

TEST_F(ShardedTables, ReturnWhatIsWanted) {
  const std::vector<TestColumn> columns = {WithNulls(Numbers(KeyType::kUint8, Distribution::kSixteenDistinct, 5001)),
                                           BytesColumn(3, Order::kDescending, MakeBytes(3 * 5001, 2))};
  for (const auto& [want_columns, want_indices, value_bytes] : std::vector<std::tuple<bool, bool, int>>{
           {true, false, 0}, {true, false, 1}, {true, false, 256}, {true, true, 0}, {false, true, 0}}) {
    for (const int devices : {2, 5}) {
      Check({columns, devices, 9000, value_bytes, want_columns, want_indices});
    }
  }
}

TEST_F(ShardedTables, MayLieInParts) {
  for (const int64_t rows : {0, 1, 7, 8, 9, 16, 17, 1000, 3001}) {
    for (const int devices : {1, 2, 3, 8}) {
      for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{1}, rows / 2 + 3}) {
        for (unsigned bits = 1; bits < 8; ++bits) {
          TestColumn first = Numbers(KeyType::kUint16, Distribution::kSixteenDistinct, rows);
          if ((bits & 4U) != 0) first = WithNulls(first);
          Case test{{first, BytesColumn(3, Order::kDescending, MakeBytes(3 * rows, 5))}, devices, 700};
          test.limit = limit;
          test.from_parts = (bits & 1U) != 0;
          test.to_parts = (bits & 2U) != 0;
          if (!test.from_parts && !test.to_parts) continue;
          test.want_indices = true;
          Check(test);
          test.want_indices = false;
          test.value_bytes = 5;
          Check(test);
        }
      }
    }
  }
}

TEST_F(ShardedTables, HaveManyAndLongColumns) {
  std::vector<TestColumn> columns;
  for (uint64_t i = 0; i < kMaxKeyColumns; ++i) {
    const Bytes bytes = i + 1 < kMaxKeyColumns ? Bytes(256 * 700) : MakeBytes(256 * 700, i);
    columns.push_back(BytesColumn(256, i % 2 == 0 ? Order::kAscending : Order::kDescending, bytes));
    if (i % 3 == 0) columns.back().valid = SomeNulls(700, i / 9);
  }
  Check({columns, 3, 100'000});
}

TEST_F(ShardedTables, MayBeInOrderAlready) {
  for (const Distribution distribution : {Distribution::kSorted, Distribution::kReversed}) {
    for (const bool with_nulls : {false, true}) {
      TestColumn column = Numbers(KeyType::kUint32, distribution, 6000);
      if (with_nulls) column.valid.assign(6000, true);
      Case test{{column}, 4, 3000};
      test.want_indices = true;
      Check(test);
    }
  }
}

TEST_F(ShardedTables, AreMergedInTilesOfAnySize) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{777}, int64_t{50'000}, kOneTile}) {
    for (const bool with_nulls : {false, true}) {
      TestColumn column = Numbers(KeyType::kInt64, Distribution::kZipf, 70'001, 4);
      Case test{{with_nulls ? WithNulls(column) : column, Numbers(KeyType::kUint16, Distribution::kUniform, 70'001)}};
      test.devices = 3;
      test.tile_bytes = tile_bytes;
      test.want_indices = true;
      Check(test);
    }
  }
}

TEST_F(ShardedTables, AreSortedBySegmentsWhereverTheyAreCut) {
  for (const int64_t rows : {0, 1, 7, 8, 9, 33, 3001}) {
    for (const int64_t segments : {int64_t{1}, int64_t{2}, int64_t{9}, rows / 3 + 1, 2 * rows + 1}) {
      for (const int devices : {1, 2, 3, 8}) {
        for (unsigned bits = 0; bits < 8; ++bits) {
          TestColumn first = Numbers(KeyType::kInt8, Distribution::kSixteenDistinct, rows);
          if ((bits & 4U) != 0) first = WithNulls(first);
          Case test{{first, BytesColumn(3, Order::kDescending, MakeBytes(3 * rows, 5))}, devices};
          test.from_parts = (bits & 1U) != 0;
          test.to_parts = (bits & 2U) != 0;
          test.want_indices = true;
          test.segment_offsets = Segments(rows, segments, 5 + bits);
          Check(test);
        }
      }
    }
  }
}

TEST_F(ShardedTables, KeepTheFirstRowsOfSegments) {
  constexpr int64_t kRows = 4001;
  for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{5}, int64_t{40}, kRows}) {
    for (const int devices : {2, 3}) {
      for (const bool with_nulls : {false, true}) {
        for (const bool to_parts : {false, true}) {
          const TestColumn column = Numbers(KeyType::kFloat32, Distribution::kSpecialFloats, kRows);
          Case test{{with_nulls ? WithNulls(column) : column}, devices};
          test.segment_offsets = Segments(kRows, 300);
          test.limit = limit;
          test.to_parts = to_parts;
          test.value_bytes = 5;
          Check(test);
          test.value_bytes = 0;
          test.want_indices = true;
          test.want_columns = false;
          Check(test);
        }
      }
    }
  }
}

TEST_F(ShardedTables, LeaveNothingInProgressWhateverFails) {
  const bool may_be_late = engines_.front()->info().kind == EngineKind::kCpu;
  for (const auto& [by_segments, is_late] :
       std::vector<std::pair<bool, bool>>{{false, false}, {true, false}, {false, true}, {true, true}}) {
    if (is_late && !may_be_late) continue;
    Case test{{WithNulls(Numbers(KeyType::kInt16, Distribution::kUniform, 3000))}, 3, 2000};
    test.want_indices = true;
    test.to_parts = by_segments;
    if (by_segments) test.segment_offsets = Segments(3000, 50);
    for (int64_t calls = 0;; ++calls) {
      const Arrays arrays = Place(test);
      const std::unique_ptr<Operation> sort = SortOf(test, arrays.spec);
      CountedLane lane(engines_, is_late);
      lane.calls().left = calls;
      corank::Outcome outcome;
      const absl::Status done = sort->Execute(lane, outcome);
      ASSERT_EQ(lane.open_streams(), 0) << calls;
      if (done.ok()) {
        EXPECT_GT(calls, 100);
        EXPECT_TRUE(ResultsOf(outcome) == Expected(test));
        break;
      }
      ASSERT_EQ(done, lane.calls().status) << calls;
      EXPECT_TRUE(outcome.results.empty());
    }
  }
}

// A result that stays on a device.
class Kept final : public ResultTarget {
 public:
  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t) override { return absl::InternalError("unused"); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }
};

TEST_F(ShardedTables, DoWithoutStringsSegmentsRunsRanksAndKeptArrays) {
  const Case test{{Numbers(KeyType::kInt16, Distribution::kUniform, 100)}};
  const auto takes = [&](void (*change)(ColumnSortOperation::Spec&)) {
    Arrays arrays = Place(test);
    change(arrays.spec);
    return ShardedColumnSortOperation::Takes(arrays.spec);
  };
  EXPECT_TRUE(takes([](auto&) {}));
  EXPECT_FALSE(takes([](auto& spec) { spec.want_ranks = true; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.limit = 0; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.segment_offsets.emplace(); }));
  EXPECT_FALSE(takes([](auto& spec) { spec.run_offsets = {0, 100}; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.columns.front().data.count = 0; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.columns.front().data.on_device = true; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.columns.front().validity.emplace().stream_input = 0; }));
  EXPECT_FALSE(takes([](auto& spec) { spec.columns.front().data_target = std::make_shared<Kept>(); }));
  EXPECT_FALSE(takes([](auto& spec) {
    spec.want_indices = true;
    spec.indices_target = std::make_shared<Kept>();
  }));
  EXPECT_FALSE(takes([](auto& spec) {
    spec.columns.front().offsets.emplace().count = 101;
    spec.columns.front().offsets->element_bytes = 8;
  }));
}

TEST_F(ShardedTables, AreSharedBySegmentsWhereSeveralDevicesHelp) {
  const auto takes = [&](const std::vector<int64_t>& offsets, void (*change)(ColumnSortOperation::Spec&) = nullptr) {
    Case test{{Numbers(KeyType::kInt16, Distribution::kUniform, 1000)}};
    test.segment_offsets = offsets;
    Arrays arrays = Place(test);
    if (change != nullptr) change(arrays.spec);
    return ShardedSegmentColumnSort::Takes(ColumnSortOperation(arrays.spec));
  };
  EXPECT_TRUE(takes({0, 100, 600, 1000}));
  EXPECT_FALSE(takes({})) << "without segments";
  EXPECT_FALSE(takes({0, 10, 1000})) << "most rows are in one";
  EXPECT_FALSE(takes({0, 500, 1000}, [](auto& spec) { spec.limit = spec.columns.front().result_count = 0; }));
  EXPECT_FALSE(takes({0, 500, 1000}, [](auto& spec) { spec.segment_offsets->is_pending = true; }));
  EXPECT_FALSE(takes({0, 500, 1000}, [](auto& spec) { spec.columns.front().data.on_device = true; }));
  EXPECT_FALSE(takes({0, 500, 1000}, [](auto& spec) {
    spec.columns.front().offsets.emplace().count = 1001;
    spec.columns.front().offsets->element_bytes = 8;
  })) << "of strings";
}

}  // namespace
}  // namespace corank::testing
