#include "kernels/cuda/sort/pass_buffers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/common/workspace.h"

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

/// Checks that no pass writes what it reads, that all passes but the last have memory, and the last writes `result`.
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

}  // namespace
}  // namespace corank::cuda
