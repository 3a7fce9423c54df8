// Copies between the memory of two GPUs: through the host while their pools are closed to each other, and over their
// link afterwards. Skips with a single GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/cuda/cuda_engine.h"

namespace corank::testing {
namespace {

struct Gpu {
  Gpu(int ordinal, bool peer_access) {
    CudaEngineOptions options;
    options.device = ordinal;
    options.peers = {0, 1};
    options.peer_access = peer_access;
    engine = CreateCudaEngine(options).value();
    stream = engine->CreateStream().value();
  }

  std::unique_ptr<EngineMemory> Array(const std::vector<uint32_t>& words) const {
    const auto bytes = static_cast<int64_t>(words.size() * 4);
    auto array = engine->AllocateDevice(bytes).value();
    EXPECT_TRUE(stream->Begin().ok());
    EXPECT_TRUE(stream->CopyToDevice(array->data(), words.data(), bytes).ok());
    EXPECT_TRUE(stream->Finish().ok());
    return array;
  }
  std::vector<uint32_t> Words(const EngineMemory& array) const {
    std::vector<uint32_t> words(static_cast<size_t>(array.size_bytes() / 4));
    EXPECT_TRUE(stream->Begin().ok());
    EXPECT_TRUE(stream->CopyToHost(words.data(), array.data(), array.size_bytes()).ok());
    EXPECT_TRUE(stream->Finish().ok());
    return words;
  }

  std::unique_ptr<Engine> engine;
  std::unique_ptr<EngineStream> stream;
};

class PeerCopyTest : public ::testing::TestWithParam<bool> {};

TEST_P(PeerCopyTest, BothWaysByEitherStream) {
  if (CountCudaDevices().value_or(0) < 2) GTEST_SKIP() << "fewer than two GPUs on this machine";
  const Gpu gpus[2] = {Gpu(0, GetParam()), Gpu(1, GetParam())};
  for (const size_t count : {size_t{1}, size_t{5'000'001}}) {  // more than all pieces of HostRelay
    std::vector<uint32_t> words(count);
    std::iota(words.begin(), words.end(), 7);
    for (const int from : {0, 1}) {
      for (const int by : {0, 1}) {
        const auto source = gpus[from].Array(words);
        const auto target = gpus[1 - from].Array(std::vector<uint32_t>(count));
        EngineStream& stream = *gpus[by].stream;
        ASSERT_TRUE(stream.Begin().ok());
        EXPECT_TRUE(stream.Copy(target->data(), source->data(), source->size_bytes()).ok());
        ASSERT_TRUE(stream.Finish().ok());
        EXPECT_EQ(gpus[1 - from].Words(*target), words) << "from " << from << " by " << by;
      }
    }
  }
}

TEST_P(PeerCopyTest, CopiesFollowEachOtherAndCrossThoseOfAnotherStream) {
  if (CountCudaDevices().value_or(0) < 2) GTEST_SKIP() << "fewer than two GPUs on this machine";
  const Gpu gpus[2] = {Gpu(0, GetParam()), Gpu(1, GetParam())};
  const std::vector<uint32_t> none(5'000'001);
  std::vector<uint32_t> words[2] = {none, none};
  std::vector<std::unique_ptr<EngineMemory>> first, there, back;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    std::iota(words[i].begin(), words[i].end(), static_cast<uint32_t>(7 + i));
    first.push_back(gpus[i].Array(words[i]));
    there.push_back(gpus[1 - i].Array(none));
    back.push_back(gpus[i].Array(none));
    ASSERT_TRUE(gpus[i].stream->Begin().ok());
  }
  const int64_t bytes = first[0]->size_bytes();
  for (const size_t i : {size_t{0}, size_t{1}})
    EXPECT_TRUE(gpus[i].stream->Copy(there[i]->data(), first[i]->data(), bytes).ok());
  for (const size_t i : {size_t{0}, size_t{1}}) EXPECT_TRUE(gpus[i].stream->Zero(first[i]->data(), bytes).ok());
  for (const size_t i : {size_t{0}, size_t{1}})
    EXPECT_TRUE(gpus[i].stream->Copy(back[i]->data(), there[i]->data(), bytes).ok());
  for (const size_t i : {size_t{0}, size_t{1}}) ASSERT_TRUE(gpus[i].stream->Finish().ok());
  for (const size_t i : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(gpus[1 - i].Words(*there[i]), words[i]) << i;
    EXPECT_EQ(gpus[i].Words(*back[i]), words[i]) << i;
  }
}

// As the merge of parts on several GPUs sends its tiles.
TEST_P(PeerCopyTest, CopiesOverlapInTheOrderOfTheirStream) {
  if (CountCudaDevices().value_or(0) < 2) GTEST_SKIP() << "fewer than two GPUs on this machine";
  const Gpu gpus[2] = {Gpu(0, GetParam()), Gpu(1, GetParam())};
  constexpr size_t kRounds = 12, kBuffers = 2;
  const std::vector<uint32_t> none(3'000'001);
  std::vector<std::unique_ptr<EngineMemory>> sources, buffers, targets;
  std::vector<uint32_t> words[kRounds];
  for (size_t i = 0; i < kRounds; ++i) {
    words[i] = none;
    std::iota(words[i].begin(), words[i].end(), static_cast<uint32_t>(1 + i));
    sources.push_back(gpus[0].Array(words[i]));
    targets.push_back(gpus[1].Array(none));
    if (i < kBuffers) buffers.push_back(gpus[1].Array(none));
  }
  EngineStream &sender = *gpus[0].stream, &taker = *gpus[1].stream;
  ASSERT_TRUE(sender.Begin().ok());
  ASSERT_TRUE(taker.Begin().ok());
  const int64_t bytes = sources[0]->size_bytes();
  std::vector<const void*> are_taken;
  for (size_t i = 0; i < kRounds; ++i) {
    void* const d_buffer = buffers[i % kBuffers]->data();
    if (i >= kBuffers) {
      EXPECT_TRUE(sender.After(are_taken[i - kBuffers]).ok());
    }
    EXPECT_TRUE(sender.Copy(d_buffer, sources[i]->data(), bytes).ok());
    EXPECT_TRUE(taker.After(sender.MarkPoint().value()).ok());
    EXPECT_TRUE(taker.Copy(targets[i]->data(), d_buffer, bytes).ok());
    are_taken.push_back(taker.MarkPoint().value());
  }
  ASSERT_TRUE(sender.Finish().ok());
  ASSERT_TRUE(taker.Finish().ok());
  for (size_t i = 0; i < kRounds; ++i) EXPECT_EQ(gpus[1].Words(*targets[i]), words[i]) << i;
}

// The order matters: opened pools stay open.
INSTANTIATE_TEST_SUITE_P(ClosedThenOpen, PeerCopyTest, ::testing::Values(false, true));

}  // namespace
}  // namespace corank::testing
