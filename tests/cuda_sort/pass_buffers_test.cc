#include "kernels/cuda/sort/pass_buffers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/mergesort_places.h"

namespace corank::cuda {
namespace {

constexpr int64_t kBytes = 1000;

TEST(Workspace, SizesWhatItHandsOut) {
  alignas(Workspace::kAlignment) char memory[1024];
  Workspace sizing, workspace(memory);
  for (Workspace* each : {&sizing, &workspace}) {
    each->Carve<int32_t>(3);
    each->CarveBytes(0);
    each->Carve<int64_t>(33);
  }
  EXPECT_TRUE(sizing.IsSizing());
  EXPECT_FALSE(workspace.IsSizing());
  EXPECT_EQ(sizing.bytes(), 256 + 512);
  EXPECT_EQ(workspace.bytes(), 256 + 512);
  EXPECT_EQ(workspace.CarveBytes(1), memory + 768);
}

TEST(Workspace, WithoutMemoryItIsNotSizing) {
  Workspace workspace(nullptr);
  EXPECT_FALSE(workspace.IsSizing());
  EXPECT_EQ(workspace.CarveBytes(0), nullptr);
}

/// Checks that no pass writes what it reads, that all passes except the last have memory, and that the last writes
/// `result`.
void ExpectPassesWork(char* result, bool result_is_whole) {
  for (int last_pass = 0; last_pass < 6; ++last_pass) {
    SCOPED_TRACE(last_pass);
    std::vector<char> memory(4096);
    Workspace workspace(memory.data());
    const PassBuffers buffers(workspace, result, result_is_whole, kBytes, last_pass);
    EXPECT_EQ(buffers.Output(last_pass), result);
    for (int pass = 0; pass < last_pass; ++pass) {
      EXPECT_NE(buffers.Output(pass), nullptr);
      EXPECT_NE(buffers.Output(pass), buffers.Output(pass + 1));
      if (!result_is_whole) {
        EXPECT_NE(buffers.Output(pass), result) << "a whole array in a shorter result";
      }
    }
  }
}

TEST(PassBuffers, PassesAlternateAndTheLastWritesTheResult) {
  char result[kBytes];
  ExpectPassesWork(result, true);
}

TEST(PassBuffers, ShortResultIsWrittenByTheLastPassOnly) {
  char result[1];
  ExpectPassesWork(result, false);
}

TEST(PassBuffers, ResultThatIsNotWantedNeedsNoMemory) {
  std::vector<char> memory(4096);
  Workspace workspace(memory.data());
  const PassBuffers buffers(workspace, nullptr, true, kBytes, 3);
  EXPECT_EQ(buffers.Output(3), nullptr);
  EXPECT_NE(buffers.Output(2), nullptr);
  EXPECT_NE(buffers.Output(1), nullptr);
  EXPECT_EQ(buffers.Output(0), buffers.Output(2));
}

TEST(PassBuffers, WholeResultSavesAnArray) {
  char result[kBytes];
  Workspace whole, cut;
  PassBuffers(whole, result, true, kBytes, 4);
  PassBuffers(cut, result, false, kBytes, 4);
  EXPECT_EQ(2 * whole.bytes(), cut.bytes());
}

TEST(MergesortPlaces, WordsLieInTheWorkspaceOnly) {
  constexpr int64_t kCount = kBytes / 8;
  uint32_t keys_out[kCount], payload_out[kCount];
  for (const bool is_whole : {true, false}) {
    for (const bool wants_keys : {true, false}) {
      const MergesortPlace result = {wants_keys ? keys_out : nullptr, payload_out, 1};
      for (int last_pass = 0; last_pass < 6; ++last_pass) {
        SCOPED_TRACE(::testing::Message() << is_whole << wants_keys << last_pass);
        std::vector<char> memory(4096);
        Workspace workspace(memory.data());
        const MergesortPlaces places(workspace, MergeForm::kWords, result, is_whole, kCount, 4, 4, last_pass);
        EXPECT_LE(workspace.bytes(), !is_whole ? 2048 : wants_keys ? 1024 : 1536);
        EXPECT_EQ(places.Output(last_pass).keys, result.keys);
        EXPECT_EQ(places.Output(last_pass).payload, payload_out);
        EXPECT_EQ(places.Output(last_pass).step, 1);
        for (int pass = 0; pass < last_pass; ++pass) {
          const MergesortPlace place = places.Output(pass);
          auto* const keys = static_cast<uint32_t*>(place.keys);
          auto* const payload = static_cast<uint32_t*>(place.payload);
          ASSERT_NE(keys, nullptr);
          EXPECT_NE(payload, places.Output(pass + 1).payload);
          if (payload == payload_out) {
            EXPECT_TRUE(is_whole) << "a whole array in a shorter result";
            EXPECT_EQ(keys == keys_out, wants_keys);
            EXPECT_EQ(place.step, 1);
          } else if (pass == 0) {
            EXPECT_EQ(payload, keys + kCount);
            EXPECT_EQ(place.step, 1);
          } else {
            EXPECT_EQ(keys, payload + 1);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(payload) % 16, 0);
            EXPECT_EQ(place.step, 2);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace corank::cuda
