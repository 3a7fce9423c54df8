// Failing calls to the CUDA runtime outside of requests: while an engine starts, while a device is queried, and for
// memory that belongs to no request.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "kernels/common/column_sort.h"
#include "kernels/cuda/common/device.h"
#include "tests/faults/cuda_fault_fixture.h"

namespace corank::testing {
namespace {

using Memory = absl::StatusOr<std::unique_ptr<EngineMemory>>;

class CudaMemoryFaultTest : public CudaFixture {
 protected:
  // Fails each call of `run` once, and calls `check` after each. Returns the number of calls.
  static int64_t FailEachCall(const ErrorSet& errors, const std::function<void()>& run,
                              const std::function<void()>& check) {
    for (int64_t n = 1; n < kMostCalls; ++n) {
      FailCudaCall(n, errors.of_memory, errors.of_others);
      run();
      const bool reached = CudaHasFailed();
      if (reached) check();
      MendCuda();
      EXPECT_TRUE(TakeErrorLeftBehind() == cudaSuccess || errors.ruins)
          << FailedCudaCall() << " leaves an error that an innocent call would take for its own";
      if (!reached) return n - 1;
    }
    ADD_FAILURE() << "it never gets through";
    return kMostCalls;
  }

  static void CheckMemory(const std::function<Memory()>& allocate) {
    const int64_t objects = CudaObjects();
    for (const ErrorSet& errors : {kPassing, kRuinous}) {
      SCOPED_TRACE(errors.name);
      Memory memory;  // freed when nothing fails any more
      FailEachCall(
          errors, [&] { memory = allocate(); },
          [&] {
            EXPECT_EQ(memory.status().code(), errors.Expected()) << FailedCudaCall() << ": " << memory.status();
            EXPECT_EQ(CudaObjects(), objects) << "leaked where " << FailedCudaCall() << " fails";
          });
      EXPECT_TRUE(memory.ok()) << "with nothing left to fail: " << memory.status();
      memory = Memory();
      EXPECT_EQ(CudaObjects(), objects) << "not given back";
    }
  }
};

// Must be the first test: the traits of a device are queried only once.
TEST_F(CudaMemoryFaultTest, ADeviceThatDoesNotTellWhatItIsIsAskedAgain) {
  cuda::DeviceTraits traits;
  cudaError_t error = cudaSuccess;
  const int64_t calls = FailEachCall(
      kPassing,
      [&] {
        error = cuda::GetDeviceTraits(&traits);
        TakeErrorLeftBehind();  // callers of a kernel's entry clear it
      },
      [&] { EXPECT_EQ(error, kPassing.of_others) << FailedCudaCall(); });
  EXPECT_GE(calls, 1);
  EXPECT_EQ(error, cudaSuccess);
  EXPECT_GT(traits.multiprocessors, 0);
  EXPECT_GT(traits.block_bytes, 0);
}

TEST_F(CudaMemoryFaultTest, AnEngineThatCannotBeMadeSaysWhy) {
  CudaEngineOptions options;
  for (int peer = 0; peer < *CountCudaDevices(); ++peer) options.peers.push_back(peer);
  // These calls ask whether the machine has a GPU for this build, whatever error they return.
  const auto asks_for_gpu = [](const std::string& call) {
    return call == "cudaDriverGetVersion" || call == "cudaGetDeviceCount" || call == "cudaFuncGetAttributes";
  };
  for (const ErrorSet& errors : {kPassing, kRuinous}) {
    SCOPED_TRACE(errors.name);
    absl::Status status;
    const int64_t calls = FailEachCall(
        errors, [&] { status = CreateCudaEngine(options).status(); },
        [&] {
          EXPECT_EQ(status.code(),
                    asks_for_gpu(FailedCudaCall()) ? absl::StatusCode::kFailedPrecondition : errors.Expected())
              << FailedCudaCall() << ": " << status;
        });
    EXPECT_GE(calls, 6);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// The answer may then be wrong, and the request that needs it fails.
TEST_F(CudaMemoryFaultTest, AQuestionForWorkspaceLeavesNoErrorBehind) {
  SortArgs sort;
  sort.count = 1000;
  KeyColumn column;
  column.row_bytes = 4;
  ColumnSortArgs sort_columns;
  sort_columns.columns = &column;
  sort_columns.column_count = 1;
  sort_columns.count = 1000;
  const auto nothing = [] {};
  FailEachCall(
      kPassing, [&] { engine_->WorkspaceBytes(sort); }, nothing);
  FailEachCall(
      kPassing, [&] { engine_->WorkspaceBytes(sort_columns); }, nothing);
  FailEachCall(
      kPassing, [&] { engine_->WorkspaceBytes(MergeArgs()); }, nothing);
  FailEachCall(
      kPassing, [&] { engine_->WorkspaceBytes(MoveArgs()); }, nothing);
}

TEST_F(CudaMemoryFaultTest, MemoryOutsideOfRequestsMayFail) {
  alignas(4096) static char pages[8192];
  CheckMemory([this]() -> Memory { return engine_->AllocateHost(1000); });
  CheckMemory([this]() -> Memory { return engine_->AllocateDevice(1000); });
  CheckMemory([this]() -> Memory { return engine_->PinHost(pages, sizeof(pages)); });
}

TEST_F(CudaMemoryFaultTest, MemoryOfAnotherProcessMayFail) {
  constexpr int64_t kBytes = 4096;
  const std::string handle(sizeof(cudaIpcMemHandle_t), '\0');
  void* d_memory = nullptr;
  ASSERT_EQ(cudaMalloc(&d_memory, kBytes), cudaSuccess);
  StandInForIpcMemory(d_memory);
  const auto open = [&]() -> Memory { return engine_->OpenIpc(handle, 96, kBytes - 96); };
  CheckMemory(open);
  // An invalid handle is NOT_FOUND, whatever error CUDA returns.
  const int64_t objects = CudaObjects();
  FailCudaCall(2, cudaErrorInvalidResourceHandle, cudaErrorInvalidResourceHandle);
  EXPECT_EQ(open().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FailedCudaCall(), "cudaIpcOpenMemHandle");
  MendCuda();
  EXPECT_EQ(engine_->OpenIpc(handle, 0, int64_t{1} << 50).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaObjects(), objects);
  EXPECT_TRUE(open().ok());
  EXPECT_EQ(cudaFree(d_memory), cudaSuccess);
}

}  // namespace
}  // namespace corank::testing
