// Engines of several devices that share work. Each engine has a binary of these tests. Where the machine has too few
// devices, one stands for several.
#ifndef CORANK_TESTS_SERVER_SHARING_DEVICES_H_
#define CORANK_TESTS_SERVER_SHARING_DEVICES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model/parts.h"
#include "tests/engine/harness.h"
#include "tests/server/counted_lane.h"
#include "tests/support/rows.h"

namespace corank::testing {

/// Memory of each device for a part of a result.
class PartsInTest final : public ResultTarget {
 public:
  explicit PartsInTest(std::vector<std::unique_ptr<EngineMemory>> parts) : parts_(std::move(parts)) {}
  bool is_sharded() const override { return true; }
  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t) override { return absl::InternalError("unused"); }
  absl::StatusOr<int64_t> Divide(int64_t) override { return static_cast<int64_t>(parts_.size()); }
  absl::StatusOr<void*> AllocateShard(size_t shard) override { return parts_[shard]->data(); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }

  const std::vector<std::unique_ptr<EngineMemory>>& parts() const { return parts_; }

 private:
  const std::vector<std::unique_ptr<EngineMemory>> parts_;
};

class SharingDevicesTest : public ::testing::Test {
 protected:
  static constexpr int kMostDevices = 8;

  void SetUp() override {
    using Engines = std::vector<std::unique_ptr<Engine>>;
    static absl::StatusOr<Engines>& engines = *new absl::StatusOr<Engines>(CreateEnginesUnderTest(kMostDevices));
    if (absl::IsFailedPrecondition(engines.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << engines.status().message();
    }
    ASSERT_TRUE(engines.ok()) << engines.status();
    for (const std::unique_ptr<Engine>& engine : *engines) engines_.push_back(engine.get());
  }

  Engine& engine(int64_t device) { return *engines_[static_cast<size_t>(device) % engines_.size()]; }

  std::vector<std::unique_ptr<EngineMemory>> PartsOf(int64_t count, int element_bytes, int devices) {
    std::vector<std::unique_ptr<EngineMemory>> parts;
    for (int64_t i = 0; i < devices; ++i) {
      const int64_t bytes = std::max<int64_t>(1, PartCount(count, devices, i) * element_bytes);
      parts.push_back(engine(i).AllocateDevice(bytes).value());
    }
    return parts;
  }
  void Copy(const std::vector<std::unique_ptr<EngineMemory>>& parts, int64_t count, int element_bytes, uint8_t* bytes,
            bool to_parts) {
    const auto devices = static_cast<int64_t>(parts.size());
    for (int64_t i = 0; i < devices; ++i) {
      const int64_t part_bytes = PartCount(count, devices, i) * element_bytes;
      void* const part = parts[static_cast<size_t>(i)]->data();
      const std::unique_ptr<EngineStream> stream = engine(i).CreateStream().value();
      ASSERT_TRUE(stream->Begin().ok());
      ASSERT_TRUE(
          (to_parts ? stream->CopyToDevice(part, bytes, part_bytes) : stream->CopyToHost(bytes, part, part_bytes))
              .ok());
      ASSERT_TRUE(stream->EndCopyIn().ok());
      ASSERT_TRUE(stream->EndKernels().ok());
      ASSERT_TRUE(stream->Finish().ok());
      bytes += part_bytes;
    }
  }
  /// Copies an array to parts on the devices. Afterwards the array consists of them.
  void InParts(const std::vector<std::unique_ptr<EngineMemory>>& parts, Bytes bytes, Operand& operand) {
    Copy(parts, operand.count, operand.element_bytes, bytes.data(), /*to_parts=*/true);
    operand.bytes = nullptr;
    operand.on_device = true;
    for (const auto& part : parts) operand.shards.push_back(part->data());
    operand.shard_devices = Mask(static_cast<int>(parts.size()));
  }

  /// Copies an array to memory of one device, where it then lies.
  void OnDevice(std::vector<std::unique_ptr<EngineMemory>>& memory, const Bytes& bytes, int device, Operand& operand) {
    memory.push_back(engine(device).AllocateDevice(std::max<int64_t>(1, operand.size_bytes())).value());
    InParts(memory, bytes, operand);
    operand.shards.clear();
    operand.bytes = memory.front()->data();
    operand.device = device;
  }

  /// Of two devices' work: once the second one has failed, the first one stops at its next turn.
  void ExpectEndOnceADeviceHasFailed(Operation& sharded) {
    CountedLane lane(engines_);
    lane.FailOtherThread();
    corank::Outcome outcome;
    EXPECT_EQ(sharded.Execute(lane, outcome), lane.calls().status);
    EXPECT_LE(lane.checks(), 1) << "one for each turn";
  }

  static uint64_t Mask(int devices) { return (uint64_t{1} << devices) - 1; }

  /// The results in host memory or in parts.
  std::vector<Bytes> ResultsOf(const corank::Outcome& outcome) {
    std::vector<Bytes> results;
    for (const ResultArray& result : outcome.results) {
      Bytes& bytes = results.emplace_back(static_cast<size_t>(result.count * result.element_bytes));
      if (const auto* const target = dynamic_cast<const PartsInTest*>(result.target.get())) {
        Copy(target->parts(), result.count, result.element_bytes, bytes.data(), /*to_parts=*/false);
      } else if (!bytes.empty()) {
        std::memcpy(bytes.data(), result.bytes, bytes.size());
      }
    }
    return results;
  }

  std::vector<Engine*> engines_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARING_DEVICES_H_
