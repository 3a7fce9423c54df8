// The memory of sharded operations: no device gives more than the operation announced, wherever arrays and results lie.
// Neither does the host give more pinned memory to a sort by columns.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "server/memory/device_set.h"
#include "server/model/parts.h"
#include "server/run/device_ops/sharded_column_sort.h"
#include "server/run/device_ops/sharded_merge.h"
#include "server/run/device_ops/sharded_sort.h"
#include "tests/server/counted_lane.h"

namespace corank::testing {
namespace {

constexpr int kDevices = 3;
constexpr uint64_t kAll = (uint64_t{1} << kDevices) - 1;

// Elements in host memory, or in parts, as an array and as the place of a result.
class Elements final : public ResultTarget {
 public:
  Elements(v1::ElementType type, int32_t element_bytes, int64_t count, bool is_sharded)
      : type_(type), element_bytes_(element_bytes), count_(count), is_sharded_(is_sharded) {
    for (int64_t part = 0; part < kDevices; ++part) {
      const int64_t rows = is_sharded ? PartCount(count, kDevices, part) : count;
      parts_[static_cast<size_t>(part)].resize(static_cast<size_t>(rows * element_bytes));
    }
  }
  Operand operand() const {
    Operand operand;
    operand.type = type_;
    operand.element_bytes = element_bytes_;
    operand.count = count_;
    if (!is_sharded_) operand.bytes = parts_[0].data();
    for (const std::vector<char>& part : parts_) {
      if (is_sharded_) operand.shards.push_back(part.data());
    }
    operand.on_device = is_sharded_;
    return operand;
  }
  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t) override { return absl::InternalError("in one piece"); }
  char* HostPlace() const override { return is_sharded_ ? nullptr : const_cast<char*>(parts_[0].data()); }
  bool is_sharded() const override { return is_sharded_; }
  absl::StatusOr<void*> AllocateShard(size_t shard) override { return parts_[shard].data(); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }

 private:
  const v1::ElementType type_;
  const int32_t element_bytes_;
  const int64_t count_;
  const bool is_sharded_;
  std::array<std::vector<char>, kDevices> parts_;
};

class ShardedNeedTest : public ::testing::Test {
 protected:
  static Elements Keys(int64_t count, bool is_sharded) {
    return {v1::ELEMENT_TYPE_UINT64, sizeof(uint64_t), count, is_sharded};
  }
  static Elements Values(int64_t count, bool is_sharded) { return {v1::ELEMENT_TYPE_RECORD, 12, count, is_sharded}; }
  static std::shared_ptr<Elements> Target(Elements elements) { return std::make_shared<Elements>(std::move(elements)); }

  void ExpectWithin(Operation& operation, const std::string& places) {
    CountedLane lane({engine_.get()});
    Outcome outcome;
    const absl::Status done = operation.Execute(lane, outcome);
    ASSERT_TRUE(done.ok()) << places << ": " << done;
    EXPECT_LE(lane.bytes(), operation.device_bytes(*engine_)) << places;
    EXPECT_GT(2 * lane.bytes(), operation.device_bytes(*engine_)) << places;
    host_bytes_ = lane.host_bytes();
  }

  int64_t host_bytes_ = 0;  // pinned memory that the last operation took
  const std::unique_ptr<Engine> engine_ = CreateCpuEngine({/*threads=*/1}).value();
};

TEST_F(ShardedNeedTest, OfAMergeWhereverItsArraysAndResultsLie) {
  constexpr int64_t kFirst = 40'001, kSecond = 20'000;
  for (unsigned places = 0; places < 64; ++places) {
    const auto sharded = [places](int bit) { return ((places >> bit) & 1U) != 0; };
    const Elements first = Keys(kFirst, sharded(0)), second = Keys(kSecond, sharded(1));
    const Elements first_values = Values(kFirst, sharded(2)), second_values = Values(kSecond, sharded(3));
    MergeOperation::Spec spec;
    spec.keys = {first.operand(), second.operand()};
    spec.keys_target = Target(Keys(kFirst + kSecond, sharded(4)));
    spec.values = {first_values.operand(), second_values.operand()};
    spec.values_target = Target(Values(kFirst + kSecond, sharded(5)));
    ASSERT_TRUE(ShardedMergeOperation::Takes(MergeOperation(spec)));
    ShardedMergeOperation merge(spec, kAll);
    ExpectWithin(merge, "places " + std::to_string(places));
  }
}

TEST_F(ShardedNeedTest, OfASortWhereverItsArraysAndResultsLie) {
  constexpr int64_t kCount = 60'001;
  for (unsigned places = 0; places < 16; ++places) {
    const auto sharded = [places](int bit) { return ((places >> bit) & 1U) != 0; };
    const Elements keys = Keys(kCount, sharded(0)), values = Values(kCount, sharded(1));
    SortOperation::Spec spec;
    spec.keys = keys.operand();
    spec.keys_target = Target(Keys(kCount, sharded(2)));
    spec.values = values.operand();
    spec.values_target = Target(Values(kCount, sharded(3)));
    ASSERT_TRUE(ShardedSortOperation::Takes(spec));
    for (const bool are_linked : {true, false}) {
      ShardedSortOperation sort(spec, {kAll, are_linked});
      ExpectWithin(sort, "places " + std::to_string(places));
      // Only GPUs take pinned memory for copies without a link.
      EXPECT_LE(host_bytes_ + (are_linked ? 0 : kDevices * kRelayBytes), sort.host_bytes());
    }
  }
}

TEST_F(ShardedNeedTest, BesideArraysOnOneDevice) {
  constexpr int64_t kCount = 60'001;
  const auto on_device = [](const Elements& elements) {
    Operand operand = elements.operand();
    operand.on_device = true;
    operand.device = 2;
    return operand;
  };
  const Elements whole = Keys(kCount, false), parts = Keys(kCount, true), values = Values(kCount, false);
  SortOperation::Spec sort;
  sort.keys = on_device(whole);
  sort.values = on_device(values);
  sort.keys_target = Target(Keys(kCount, true));
  sort.values_target = Target(Values(kCount, true));
  ASSERT_TRUE(ShardedSortOperation::Takes(sort));
  ShardedSortOperation sorting(sort, {kAll});
  ExpectWithin(sorting, "sort");
  MergeOperation::Spec merge;
  merge.keys = {on_device(whole), parts.operand()};
  merge.keys_target = Target(Keys(2 * kCount, true));
  ASSERT_TRUE(ShardedMergeOperation::Takes(MergeOperation(merge)));
  ShardedMergeOperation merging(merge, kAll);
  ExpectWithin(merging, "merge");
  sort.keys_target = Target(Keys(kCount, false));
  sort.values_target = Target(Values(kCount, false));
  EXPECT_FALSE(ShardedSortOperation::Takes(sort)) << "nothing is sharded";
}

TEST_F(ShardedNeedTest, OfASortByColumns) {
  constexpr int64_t kCount = 300'003;
  const Elements keys = Keys(kCount, false), values = Values(kCount, false);
  const Elements validity(v1::ELEMENT_TYPE_UINT8, 1, ValidityBytes(kCount), false);
  for (const bool with_nulls : {false, true}) {
    for (const int64_t limit : {int64_t{-1}, int64_t{1}, kCount / 2}) {
      for (const int64_t tile_bytes : {int64_t{100'000}, int64_t{1} << 30}) {
        ColumnSortOperation::Spec spec;
        spec.columns.resize(1);
        spec.columns[0].data = keys.operand();
        if (with_nulls) spec.columns[0].validity = validity.operand();
        spec.columns[0].result_count = limit < 0 ? kCount : limit;
        spec.values = values.operand();
        spec.limit = limit;
        ShardedColumnSortOperation sort(spec, {kAll}, tile_bytes);
        const std::string work = "limit " + std::to_string(limit) + " tiles of " + std::to_string(tile_bytes);
        ExpectWithin(sort, work);
        constexpr int64_t kAlignment = int64_t{16} << 10;
        EXPECT_LE(host_bytes_, sort.host_bytes()) << work;
        EXPECT_GT(3 * host_bytes_ + kAlignment, sort.host_bytes()) << work;
        EXPECT_TRUE(limit >= 0 || host_bytes_ > kAlignment) << work;
      }
    }
  }
}

}  // namespace
}  // namespace corank::testing
