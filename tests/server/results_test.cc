// Results in memory that callers see: the server checks all results before it writes the first, and before any is
// visible.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "server/run/device_ops/column_sort.h"
#include "server/run/device_ops/sort.h"

namespace corank::testing {
namespace {

class OneStream final : public Lane {
 public:
  EngineStream& stream() override { return *stream_; }
  Engine& engine() override { return *engine_; }
  absl::StatusOr<EngineStream*> ExtraStream(int) override { return absl::UnimplementedError("one stream"); }
  absl::Status CheckWanted() override { return absl::OkStatus(); }

 private:
  const std::unique_ptr<Engine> engine_ = CreateCpuEngine({}).value();
  const std::unique_ptr<EngineStream> stream_ = engine_->CreateStream().value();
};

// Like a region that a caller may truncate.
class Place final : public ResultTarget {
 public:
  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    const absl::StatusOr<void*> device = stream.AllocateDevice(bytes);
    if (!device.ok()) return device.status();
    return ResultBuffer{*device, words.data()};
  }
  absl::Status Check() const override { return is_there ? absl::OkStatus() : absl::FailedPreconditionError("shrank"); }
  absl::Status Commit(v1::Array*) override {
    is_visible = true;
    return absl::OkStatus();
  }

  std::vector<uint32_t> words = {0, 0, 0};
  bool is_there = true;
  bool is_visible = false;
};

class ResultsTest : public ::testing::Test {
 protected:
  static Operand Words(const std::vector<uint32_t>& words) {
    Operand operand;
    operand.type = v1::ELEMENT_TYPE_UINT32;
    operand.element_bytes = 4;
    operand.count = static_cast<int64_t>(words.size());
    operand.bytes = words.data();
    return operand;
  }
  absl::Status Sort(Outcome* outcome) {
    SortOperation::Spec spec;
    spec.keys = Words(words_);
    spec.values = Words(words_);
    spec.keys_target = keys_;
    spec.values_target = values_;
    return SortOperation(std::move(spec)).Execute(lane_, *outcome);
  }

  OneStream lane_;
  const std::vector<uint32_t> words_ = {3, 1, 2};
  const std::shared_ptr<Place> keys_ = std::make_shared<Place>(), values_ = std::make_shared<Place>();
};

TEST_F(ResultsTest, BothAreWrittenAndShown) {
  Outcome outcome;
  ASSERT_TRUE(Sort(&outcome).ok());
  ASSERT_TRUE(SortOperation({}).Commit(outcome).ok());
  EXPECT_EQ(keys_->words, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(values_->words, keys_->words);
  EXPECT_TRUE(keys_->is_visible && values_->is_visible);
}

TEST_F(ResultsTest, NoneIsWrittenWhereOneHasNoPlace) {
  values_->is_there = false;
  Outcome outcome;
  EXPECT_EQ(Sort(&outcome).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(keys_->words, (std::vector<uint32_t>{0, 0, 0}));
}

TEST_F(ResultsTest, NoneIsShownWhereOneHasNoPlaceAnyMore) {
  Outcome outcome;
  ASSERT_TRUE(Sort(&outcome).ok());
  values_->is_there = false;
  EXPECT_EQ(SortOperation({}).Commit(outcome).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(keys_->is_visible);
}

// The shortest of 4 strings has 2 bytes, in a place for the longest of 10: leftovers of the lane's memory must not
// appear there.
TEST_F(ResultsTest, NothingOfWorkBeforeIsInWhatAShortResultLeaves) {
  const std::vector<uint32_t> secret(1000, 0x5EC3E75E);
  SortOperation::Spec before;
  before.keys = Words(secret);
  Outcome outcome;
  ASSERT_TRUE(SortOperation(std::move(before)).Execute(lane_, outcome).ok());

  const std::string strings = "ccccccccccbbbbaadd";
  const std::vector<int64_t> offsets = {0, 10, 14, 16, 18};
  ColumnSortOperation::Column column;
  column.data = Operand{v1::ELEMENT_TYPE_UINT8, 1, static_cast<int64_t>(strings.size()), strings.data()};
  column.offsets = Operand{v1::ELEMENT_TYPE_INT64, 8, 5, offsets.data()};
  column.result_count = 10;
  column.data_target = keys_;
  ColumnSortOperation::Spec spec;
  spec.columns.push_back(std::move(column));
  spec.limit = 1;
  ASSERT_TRUE(ColumnSortOperation(std::move(spec)).Execute(lane_, outcome).ok());
  std::string result(10, '?');
  std::memcpy(result.data(), keys_->words.data(), result.size());
  EXPECT_EQ(result, "aa" + std::string(8, '\0'));
}

}  // namespace
}  // namespace corank::testing
