// Engines of several devices that share work. Each engine has a binary of these tests. Where the machine has too few
// devices, one stands for several.
#ifndef CORANK_TESTS_SERVER_SHARING_DEVICES_H_
#define CORANK_TESTS_SERVER_SHARING_DEVICES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/engine/harness.h"
#include "tests/server/counted_lane.h"
#include "tests/support/rows.h"

namespace corank::testing {

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

  static uint64_t Mask(int devices) { return (uint64_t{1} << devices) - 1; }

  static std::vector<Bytes> ResultsOf(const corank::Outcome& outcome) {
    std::vector<Bytes> results;
    for (const ResultArray& result : outcome.results) {
      const auto* const bytes = static_cast<const uint8_t*>(result.bytes);
      results.emplace_back(bytes, bytes + result.count * result.element_bytes);
    }
    return results;
  }

  std::vector<Engine*> engines_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARING_DEVICES_H_
