// Iota: numbers of both widths, around the limit of 32 bits and the block sizes of the engines. Points: the order of
// streams.
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
  constexpr int64_t kGuard = 3;  // elements after the numbers
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

using StreamOrderTest = OnEngineUnderTest<::testing::Test>;

TEST_F(StreamOrderTest, WorkBeginsAfterThePointsOfOtherStreams) {
  constexpr int64_t kCount = int64_t{1} << 25, kBytes = kCount * 4;
  constexpr int kStreams = 4;
  std::vector<std::unique_ptr<EngineStream>> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(*engine().CreateStream());
  for (const int64_t first : {11, 12}) {  // the second round reuses the points of the first
    for (const auto& stream : streams) ASSERT_TRUE(stream->Begin().ok());
    // Each stream copies the result of the previous one, much faster than that can be made.
    void* d_numbers = *streams[0]->AllocateDevice(kBytes);
    ASSERT_TRUE(streams[0]->Zero(d_numbers, kBytes).ok());
    for (int again = 0; again < 20; ++again) {
      ASSERT_TRUE(streams[0]->Iota(d_numbers, 4, first + again - 19, kCount).ok());
    }
    ResultBuffer last;
    for (int i = 1; i < kStreams; ++i) {
      EngineStream& stream = *streams[static_cast<size_t>(i)];
      ASSERT_TRUE(stream.After(nullptr).ok());
      const absl::StatusOr<const void*> point = streams[static_cast<size_t>(i) - 1]->MarkPoint();
      ASSERT_TRUE(point.ok());
      ASSERT_TRUE(stream.After(*point).ok());
      last = *stream.AllocateResult(kBytes);
      ASSERT_TRUE(stream.Copy(last.device, d_numbers, kBytes).ok());
      d_numbers = last.device;
    }
    ASSERT_TRUE(streams.back()->EndCopyIn().ok() && streams.back()->EndKernels().ok());
    ASSERT_TRUE(streams.back()->Download(last, kBytes).ok());
    ASSERT_TRUE(streams.back()->Finish().ok());
    for (const auto& stream : streams) ASSERT_TRUE(stream->Finish().ok());
    std::vector<uint32_t> expected(static_cast<size_t>(kCount));
    std::iota(expected.begin(), expected.end(), static_cast<uint32_t>(first));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), static_cast<const uint32_t*>(last.host)));
  }
}

}  // namespace
}  // namespace corank::testing
