// SplitRuns: the cuts of a merge of 1 to 32 inputs, compared with a merge that counts.
#include <algorithm>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class SplitRuns : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  void Check(const std::vector<int64_t>& counts, Order order, Distribution distribution, bool in_host_memory) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(GetParam()) << " inputs=" << counts.size() << " "
                                      << DistributionName(distribution) << (in_host_memory ? " in host memory" : ""));
    std::vector<Bytes> inputs;
    int64_t total = 0;
    uint64_t seed = 0;
    for (int64_t count : counts) {
      const Bytes keys = MakeKeys(GetParam(), distribution, count, ++seed);
      inputs.push_back(Gather(keys, KeyBytes(GetParam()), StableOrder(GetParam(), order, keys)));
      total += count;
    }
    std::vector<int64_t> positions = {0, 0};  // a cut may occur twice
    for (int64_t p = 1; p < total; p += 1 + total / 37) positions.push_back(p);
    positions.push_back(total);

    const std::unique_ptr<EngineStream> stream = *engine().CreateStream();
    ASSERT_TRUE(stream->Begin().ok());
    std::vector<std::unique_ptr<EngineMemory>> memory;
    std::vector<MergeInput> args_inputs;
    for (const Bytes& keys : inputs) {
      const auto bytes = static_cast<int64_t>(keys.size());
      MergeInput input;
      input.count = bytes / KeyBytes(GetParam());
      if (in_host_memory && bytes > 0) {
        memory.push_back(*engine().AllocateHost(bytes));
        std::copy(keys.begin(), keys.end(), static_cast<uint8_t*>(memory.back()->data()));
        input.keys = memory.back()->data();
      } else if (bytes > 0) {
        input.keys = *stream->Upload(keys.data(), bytes);
      }
      args_inputs.push_back(input);
    }
    std::vector<int64_t> splits(positions.size() * counts.size(), -1);
    SplitArgs args;
    args.key_type = GetParam();
    args.order = order;
    args.inputs = args_inputs.data();
    args.input_count = static_cast<int32_t>(counts.size());
    args.positions = positions.data();
    args.position_count = static_cast<int64_t>(positions.size());
    args.splits = splits.data();
    ASSERT_TRUE(stream->SplitRuns(args).ok());
    const std::vector<int64_t> used = positions;
    std::fill(positions.begin(), positions.end(), -1);  // not needed after the return
    ASSERT_TRUE(stream->Finish().ok());

    // The input of each output of the merge.
    const std::vector<int64_t> merged = MergeOrder(GetParam(), order, inputs);
    std::vector<size_t> input_of;
    for (size_t i = 0; i < counts.size(); ++i) input_of.insert(input_of.end(), static_cast<size_t>(counts[i]), i);
    std::vector<int64_t> expected(counts.size(), 0);
    size_t p = 0;
    for (int64_t output = 0; output <= total; ++output) {
      for (; p < used.size() && used[p] == output; ++p) {
        const auto at = splits.begin() + static_cast<ptrdiff_t>(p * counts.size());
        ASSERT_EQ(std::vector<int64_t>(at, at + static_cast<ptrdiff_t>(counts.size())), expected) << "cut " << output;
      }
      if (output < total) ++expected[input_of[static_cast<size_t>(merged[static_cast<size_t>(output)])]];
    }
  }
};

TEST_P(SplitRuns, CutsAsTheStableMergeDoes) {
  for (Order order : kBothOrders) {
    for (Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct, Distribution::kAllEqual,
                                      Distribution::kSpecialFloats}) {
      Check({1000, 3, 0, 777}, order, distribution, false);
    }
  }
}

TEST_P(SplitRuns, TakesOneToThirtyTwoInputs) {
  for (size_t inputs : {1, 2, 3, 31, 32}) {
    std::vector<int64_t> counts;
    for (size_t i = 0; i < inputs; ++i) counts.push_back(static_cast<int64_t>(i * 37 % 101));
    Check(counts, Order::kAscending, Distribution::kSixteenDistinct, false);
    Check(counts, Order::kDescending, Distribution::kZipf, true);
  }
  Check({0, 0}, Order::kAscending, Distribution::kUniform, false);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SplitRuns, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
