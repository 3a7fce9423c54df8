// The device memory of sharded operations: no device gives more than the operation announced, wherever arrays and
// results lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/engine/forwarding_engine.h"
#include "server/memory/device_set.h"
#include "server/model/parts.h"
#include "server/run/device_ops/sharded_merge.h"
#include "server/run/device_ops/sharded_sort.h"

namespace corank::testing {
namespace {

constexpr int kDevices = 3;
constexpr uint64_t kAll = (uint64_t{1} << kDevices) - 1;

// Counts the device memory that it hands out.
class CountedStream final : public ForwardingStream {
 public:
  CountedStream(std::unique_ptr<EngineStream> stream, int device)
      : ForwardingStream(std::move(stream)), device_(device) {}
  int device() const override { return device_; }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    given_ += bytes;
    return ForwardingStream::AllocateDevice(bytes);
  }
  int64_t bytes() const { return given_ + workspace_bytes(); }

 private:
  const int device_;
  int64_t given_ = 0;
};

// For one operation.
class CountedLane final : public Lane {
 public:
  explicit CountedLane(Engine* engine) : engine_(engine) {}
  EngineStream& stream() override { return **StreamOn(0, 0); }
  Engine& engine() override { return *engine_; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override { return StreamOn(0, i + 1); }
  absl::StatusOr<EngineStream*> StreamOn(int device, int i) override {
    std::unique_ptr<CountedStream>& stream = streams_[{device, i}];
    if (stream == nullptr) stream = std::make_unique<CountedStream>(*engine_->CreateStream(), device);
    return stream.get();
  }
  absl::Status CheckWanted() override { return absl::OkStatus(); }

  // Of each device.
  std::vector<int64_t> bytes() const {
    std::vector<int64_t> bytes(kDevices);
    for (const auto& [place, stream] : streams_) bytes[static_cast<size_t>(place.first)] += stream->bytes();
    return bytes;
  }

 private:
  Engine* const engine_;
  std::map<std::pair<int, int>, std::unique_ptr<CountedStream>> streams_;
};

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
    CountedLane lane(engine_.get());
    Outcome outcome;
    const absl::Status done = operation.Execute(lane, outcome);
    ASSERT_TRUE(done.ok()) << places << ": " << done;
    const std::vector<int64_t> bytes = lane.bytes();
    EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()), operation.device_bytes(*engine_)) << places;
    EXPECT_GT(2 * *std::max_element(bytes.begin(), bytes.end()), operation.device_bytes(*engine_)) << places;
  }

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
    ASSERT_TRUE(ShardedMergeOperation::Takes(spec));
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
    ShardedSortOperation sort(spec, kAll);
    ExpectWithin(sort, "places " + std::to_string(places));
  }
}

}  // namespace
}  // namespace corank::testing
