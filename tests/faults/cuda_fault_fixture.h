// The shared parts of tests with a failing CUDA runtime.
#ifndef CORANK_TESTS_FAULTS_CUDA_FAULT_FIXTURE_H_
#define CORANK_TESTS_FAULTS_CUDA_FAULT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>

#include "kernels/cuda/cuda_engine.h"
#include "tests/faults/cuda_runtime_shim.h"

namespace corank::testing {

/// Upper bound of the calls in a run. A request on a new stream has failed at each of its calls before that.
inline constexpr int64_t kMostCalls = 2000;

/// The errors that calls return, and the statuses that must result.
struct ErrorSet {
  const char* name;
  cudaError_t of_memory, of_others;
  absl::StatusCode memory_code, other_code;
  bool ruins;

  /// The status for the call that failed.
  absl::StatusCode Expected() const { return FailedCudaCallKind() == CudaCall::kAllocation ? memory_code : other_code; }
};
inline constexpr ErrorSet kPassing = {"passing",
                                      cudaErrorMemoryAllocation,
                                      cudaErrorNotSupported,
                                      absl::StatusCode::kResourceExhausted,
                                      absl::StatusCode::kInternal,
                                      false};
inline constexpr ErrorSet kRuinous = {"ruinous",
                                      cudaErrorIllegalAddress,
                                      cudaErrorIllegalAddress,
                                      absl::StatusCode::kUnavailable,
                                      absl::StatusCode::kUnavailable,
                                      true};

class CudaFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    static absl::StatusOr<std::unique_ptr<Engine>>& engine =
        *new absl::StatusOr<std::unique_ptr<Engine>>(CreateCudaEngine({/*device=*/0, /*peers=*/{0}}));
    if (absl::IsFailedPrecondition(engine.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << engine.status().message();
    }
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = engine->get();
  }
  void TearDown() override {
    FailCudaCall(0, cudaSuccess, cudaSuccess);
    RefuseDeviceCopies(false);
    StandInForIpcMemory(nullptr);
  }

  Engine* engine_ = nullptr;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_CUDA_FAULT_FIXTURE_H_
