// Iota: numbers of both widths, around the width of 32 bits and the blocks of the engines.
#include <numeric>

#include "tests/engine/conformance_fixture.h"

namespace corank::testing {
namespace {

using IotaTest = OnEngineUnderTest<::testing::Test>;

template <typename Number>
void ExpectCounted(Engine& engine, int64_t first, int64_t count) {
  SCOPED_TRACE(::testing::Message() << sizeof(Number) << " bytes, first=" << first << " count=" << count);
  const std::unique_ptr<EngineStream> stream = *engine.CreateStream();
  ASSERT_TRUE(stream->Begin().ok());
  constexpr int64_t kGuard = 3;  // behind the numbers
  const int64_t bytes = (count + kGuard) * static_cast<int64_t>(sizeof(Number));
  const absl::StatusOr<ResultBuffer> numbers = stream->AllocateResult(bytes);
  ASSERT_TRUE(numbers.ok());
  ASSERT_TRUE(stream->Zero(numbers->device, bytes).ok());
  ASSERT_TRUE(stream->EndCopyIn().ok());
  ASSERT_TRUE(stream->Iota(numbers->device, sizeof(Number), first, count).ok());
  ASSERT_TRUE(stream->EndKernels().ok());
  ASSERT_TRUE(stream->Download(*numbers, bytes).ok());
  ASSERT_TRUE(stream->Finish().ok());
  std::vector<Number> expected(static_cast<size_t>(count + kGuard), 0);
  std::iota(expected.begin(), expected.end() - kGuard, static_cast<Number>(first));
  const auto* const got = static_cast<const Number*>(numbers->host);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got));
}

TEST_F(IotaTest, CountsUpAndNoFurther) {
  constexpr int64_t k32Bits = int64_t{1} << 32;
  for (const int64_t count : {0, 1, 255, 256, 257, 65535, 65537, (4096 * 256) + 1}) {
    for (const int64_t first : {int64_t{0}, int64_t{7}, k32Bits - count}) {
      ExpectCounted<uint32_t>(engine(), first, count);
      ExpectCounted<uint64_t>(engine(), first, count);
    }
    ExpectCounted<uint64_t>(engine(), k32Bits - count / 2, count);
  }
}

}  // namespace
}  // namespace corank::testing
