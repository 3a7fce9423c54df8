// The fixture of the conformance suite: every test runs on the engine that the binary is linked with.
#ifndef CORANK_TESTS_ENGINE_CONFORMANCE_FIXTURE_H_
#define CORANK_TESTS_ENGINE_CONFORMANCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/harness.h"
#include "tests/support/distributions.h"

namespace corank::testing {

/// Base is ::testing::Test or ::testing::TestWithParam<KeyType>.
template <typename Base>
class OnEngineUnderTest : public Base {
 protected:
  void SetUp() override {
    // One engine for all tests of the binary, because starting a GPU takes a second.
    static absl::StatusOr<std::unique_ptr<Engine>>& engine =
        *new absl::StatusOr<std::unique_ptr<Engine>>(CreateEngineUnderTest());
    if (absl::IsFailedPrecondition(engine.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << engine.status().message();
    }
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = engine->get();
    harness_ = std::make_unique<Harness>(engine_);
  }

  Engine& engine() { return *engine_; }
  Harness& harness() { return *harness_; }

 private:
  Engine* engine_ = nullptr;
  std::unique_ptr<Harness> harness_;
};

/// The engines of some devices that exchange memory. Where the machine has too few, one stands for several.
class OnEnginesUnderTest : public ::testing::TestWithParam<KeyType> {
 protected:
  using Engines = std::vector<std::unique_ptr<Engine>>;

  void SetUp() override {
    constexpr int kDevices = 3;
    static absl::StatusOr<Engines>& engines = *new absl::StatusOr<Engines>(CreateEnginesUnderTest(kDevices));
    if (absl::IsFailedPrecondition(engines.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << engines.status().message();
    }
    ASSERT_TRUE(engines.ok()) << engines.status();
    engines_ = &*engines;
  }

  Engine& engine(size_t shard) { return *(*engines_)[shard % engines_->size()]; }
  bool devices_are_linked() {
    return std::all_of(engines_->begin(), engines_->end(), [this](const std::unique_ptr<Engine>& one) {
      return std::all_of(engines_->begin(), engines_->end(), [&one](const std::unique_ptr<Engine>& other) {
        return (one->info().linked >> other->info().ordinal & 1) != 0;
      });
    });
  }

 private:
  Engines* engines_ = nullptr;
};

inline std::string TypeParamName(const ::testing::TestParamInfo<KeyType>& info) { return KeyTypeName(info.param); }

inline constexpr Order kBothOrders[] = {Order::kAscending, Order::kDescending};
inline constexpr SortAlgorithm kSortAlgorithms[] = {SortAlgorithm::kAuto, SortAlgorithm::kMergesort,
                                                    SortAlgorithm::kRadix, SortAlgorithm::kOddEvenMergesort};
inline constexpr MergeAlgorithm kMergeAlgorithms[] = {MergeAlgorithm::kAuto, MergeAlgorithm::kMergePath,
                                                      MergeAlgorithm::kBasic, MergeAlgorithm::kTiled,
                                                      MergeAlgorithm::kCircularBuffer};
/// Sizes around the pieces of the kernels' work. The last one needs many tiles.
inline constexpr int64_t kSizes[] = {0, 1, 2, 100, 4095, 4096, 4097, 100003};
inline constexpr int kValueWidths[] = {1, 3, 4, 8, 16, 256};

}  // namespace corank::testing

#endif  // CORANK_TESTS_ENGINE_CONFORMANCE_FIXTURE_H_
