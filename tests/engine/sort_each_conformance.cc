// SortEach: many short arrays in one call, read in place, compared with std::stable_sort on the keys' real values.
#include <cstring>
#include <vector>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kGuardBytes = 64;
constexpr int kGuard = 0xA5;

class SortEach : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  void Check(const std::vector<Bytes>& arrays, Order order, Pace pace) {
    const int key_bytes = KeyBytes(GetParam());
    const absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine().CreateStream();
    ASSERT_TRUE(stream.ok()) << stream.status();
    ASSERT_TRUE((*stream)->Begin(pace).ok());
    std::vector<SortArgs> sorts(arrays.size());
    std::vector<const void*> h_inputs;
    std::vector<ResultBuffer> results;
    std::vector<OperatorReport> reports(arrays.size());
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto size = static_cast<int64_t>(arrays[i].size());
      void* const h_keys = (*stream)->AllocateHost(size).value();
      std::memcpy(h_keys, arrays[i].data(), arrays[i].size());
      h_inputs.push_back(h_keys);
      results.push_back((*stream)->AllocateResult(size + kGuardBytes).value());
      std::memset(results[i].host, kGuard, static_cast<size_t>(size + kGuardBytes));
      sorts[i].key_type = GetParam();
      sorts[i].order = order;
      sorts[i].count = size / key_bytes;
      sorts[i].keys_in = (*stream)->Upload(h_keys, size).value();
      sorts[i].keys_out = results[i].device;
    }
    ASSERT_TRUE((*stream)->EndCopyIn().ok());
    ASSERT_TRUE((*stream)->SortEach(sorts, reports.data()).ok());
    ASSERT_TRUE((*stream)->EndKernels().ok());
    for (size_t i = 0; i < arrays.size(); ++i) {
      ASSERT_TRUE((*stream)->Download(results[i], static_cast<int64_t>(arrays[i].size())).ok());
    }
    const absl::StatusOr<PhaseTimes> times = (*stream)->Finish();
    ASSERT_TRUE(times.ok()) << times.status();
    for (size_t i = 0; i < arrays.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "array " << i << " of " << sorts[i].count << " keys");
      const std::vector<int64_t> wanted = StableOrder(GetParam(), order, arrays[i]);
      Bytes guarded = Gather(arrays[i], key_bytes, wanted);
      guarded.resize(guarded.size() + kGuardBytes, kGuard);
      EXPECT_EQ(std::memcmp(results[i].host, guarded.data(), guarded.size()), 0) << "keys, or what lies behind them";
      EXPECT_EQ(std::memcmp(h_inputs[i], arrays[i].data(), arrays[i].size()), 0) << "the input was changed";
      EXPECT_EQ(reports[i].fault, OperatorReport::Fault::kNone);
      EXPECT_NE(reports[i].sort_algorithm, SortAlgorithm::kAuto);
    }
  }
};

TEST_P(SortEach, SortsEachArrayForItself) {
  uint64_t seed = 50;
  for (const Pace pace : {Pace::kBrief, Pace::kPhases}) {
    for (const Order order : kBothOrders) {
      std::vector<Bytes> arrays;
      for (const int64_t count : {1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 2048, 3001, 4095, 4096}) {
        const Distribution distribution = kAllDistributions[++seed % std::size(kAllDistributions)];
        arrays.push_back(MakeKeys(GetParam(), distribution, count, seed));
      }
      static_assert(kSortEachKeys == 4096);
      Check(arrays, order, pace);
    }
  }
}

TEST_P(SortEach, TakesAnyNumberOfArrays) {
  for (const size_t size : {1, 127, 128, 129, 300}) {
    std::vector<Bytes> arrays;
    for (size_t i = 0; i < size; ++i) {
      const auto count = static_cast<int64_t>(1 + i * 37 % 200);
      arrays.push_back(MakeKeys(GetParam(), Distribution::kSpecialFloats, count, i));
    }
    Check(arrays, kBothOrders[size % 2], Pace::kBrief);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SortEach, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
