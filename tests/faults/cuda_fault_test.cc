// Every call that the CUDA engine makes to the CUDA runtime fails once, in every operator: the right status comes back,
// nothing is leaked, and the next request has the right answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/cuda/cuda_engine.h"
#include "tests/faults/cuda_runtime_shim.h"
#include "tests/faults/engine_workloads.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

// Before a request on a new stream has failed at each of its calls in turn, a run that is never reached has to end.
constexpr int64_t kMostCalls = 2000;

struct ErrorSet {
  const char* name;
  cudaError_t of_memory, of_others;
  absl::StatusCode memory_code, other_code;
};
constexpr ErrorSet kPassing = {"passing", cudaErrorMemoryAllocation, cudaErrorNotSupported,
                               absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal};
constexpr ErrorSet kRuinous = {"ruinous", cudaErrorIllegalAddress, cudaErrorIllegalAddress,
                               absl::StatusCode::kUnavailable, absl::StatusCode::kUnavailable};

class CudaFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static absl::StatusOr<std::unique_ptr<Engine>>& engine =
        *new absl::StatusOr<std::unique_ptr<Engine>>(CreateCudaEngine({}));
    if (absl::IsFailedPrecondition(engine.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << engine.status().message();
    }
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = engine->get();
  }
  void TearDown() override { FailCudaCall(0, cudaSuccess, cudaSuccess); }

  static absl::StatusCode Expected(const ErrorSet& errors) {
    return FailedCudaCallKind() == CudaCall::kAllocation ? errors.memory_code : errors.other_code;
  }

  // What each call answers, on a stream that has run the same request before, or on a new one.
  void FailEachCall(const Workload& workload, const ErrorSet& errors) {
    std::vector<Bytes> wanted;
    const std::unique_ptr<EngineStream> cpu = *(*CreateCpuEngine({}))->CreateStream();
    ASSERT_TRUE(workload.run(*cpu, &wanted).ok());
    const int64_t objects = CudaObjects();
    int64_t n = 1;
    for (bool reached = true; reached; ++n) {
      ASSERT_LT(n, kMostCalls) << "the request never gets through";
      if (!RunsNextCase()) continue;
      // A new stream for each: its arenas are empty, so that allocations are among the calls.
      FailCudaCall(n, errors.of_memory, errors.of_others);
      absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine_->CreateStream();
      absl::Status status = stream.status();
      std::vector<Bytes> outputs;
      if (stream.ok()) status = workload.run(**stream, &outputs);
      reached = CudaHasFailed();
      const std::string where = " where call " + std::to_string(n) + ", " + FailedCudaCall() + ", fails";
      // Some calls are only asked for advice or for times; what they say then must not be the request's error.
      if (status.ok()) {
        EXPECT_TRUE(outputs == wanted) << "a wrong answer" << where;
      } else {
        EXPECT_EQ(status.code(), Expected(errors)) << status << where;
      }
      EXPECT_TRUE(!reached || !status.ok() || FailedCudaCallKind() == CudaCall::kOther) << "nobody noticed" << where;
      MendCuda();
      // What the failed request left behind must not be found by the next one.
      if (stream.ok()) {
        const absl::Status next = workload.run(**stream, &outputs);
        EXPECT_TRUE(next.ok()) << next << " after a request" << where;
        EXPECT_TRUE(outputs == wanted) << "a wrong answer after a request" << where;
        stream->reset();
      }
      EXPECT_EQ(CudaObjects(), objects) << "leaked" << where;
      if (HasFailure()) return;
    }
    RecordProperty(workload.name, std::to_string(n - 2) + " calls");
    std::printf("%-28s %4d calls fail, %s\n", workload.name.c_str(), static_cast<int>(n - 2), errors.name);
  }

  Engine* engine_ = nullptr;
};

TEST_F(CudaFaultTest, EveryCallOfEveryOperatorMayFail) {
  for (const Workload& workload : EngineWorkloads()) {
    SCOPED_TRACE(workload.name);
    FailEachCall(workload, kPassing);
  }
}

TEST_F(CudaFaultTest, ARuinedContextIsUnavailableFromThenOn) {
  for (const Workload& workload : EngineWorkloads()) {
    SCOPED_TRACE(workload.name);
    FailEachCall(workload, kRuinous);
  }
}

// The driver's words for a copy between GPUs that have no link: the copy goes through the host instead.
TEST_F(CudaFaultTest, ACopyThatTheDriverRefusesGoesThroughTheHost) {
  const std::vector<Workload> all = EngineWorkloads();
  const auto copies = std::find_if(all.begin(), all.end(), [](const Workload& one) { return one.name == "copies"; });
  ASSERT_NE(copies, all.end());
  const std::unique_ptr<EngineStream> cpu = *(*CreateCpuEngine({}))->CreateStream();
  std::vector<Bytes> wanted;
  ASSERT_TRUE(copies->run(*cpu, &wanted).ok());
  const std::unique_ptr<EngineStream> stream = *engine_->CreateStream();
  int mended = 0;
  int64_t n = 1;
  for (bool reached = true; reached; ++n) {
    ASSERT_LT(n, kMostCalls) << "the request never gets through";
    FailCudaCall(n, cudaErrorInvalidValue, cudaErrorInvalidValue);
    std::vector<Bytes> outputs;
    const absl::Status status = copies->run(*stream, &outputs);
    reached = CudaHasFailed();
    if (reached && FailedCudaCallKind() == CudaCall::kCopy && status.ok()) ++mended;
    if (status.ok()) {
      EXPECT_TRUE(outputs == wanted) << "a wrong answer where call " << n << ", " << FailedCudaCall() << ", fails";
    }
    MendCuda();
  }
  EXPECT_GT(mended, 0);
}

TEST_F(CudaFaultTest, MemoryOutsideOfRequestsMayFail) {
  using Memory = absl::StatusOr<std::unique_ptr<EngineMemory>>;
  alignas(4096) static char pages[8192];
  const auto check = [](auto allocate) {
    const int64_t objects = CudaObjects();
    for (const ErrorSet& errors : {kPassing, kRuinous}) {
      for (int64_t n = 1, reached = 1; reached != 0; ++n) {
        FailCudaCall(n, errors.of_memory, errors.of_others);
        {
          const Memory memory = allocate();
          reached = CudaHasFailed() ? 1 : 0;
          if (reached != 0) {
            EXPECT_EQ(memory.status().code(), Expected(errors)) << FailedCudaCall();
          }
        }
        MendCuda();
        EXPECT_EQ(CudaObjects(), objects) << "leaked where " << FailedCudaCall() << " fails";
        EXPECT_TRUE(allocate().ok()) << "after " << FailedCudaCall();
      }
    }
  };
  check([this]() -> Memory { return engine_->AllocateHost(1000); });
  check([this]() -> Memory { return engine_->AllocateDevice(1000); });
  check([this]() -> Memory { return engine_->PinHost(pages, sizeof(pages)); });
}

TEST_F(CudaFaultTest, AFailedRequestWritesNothingLater) {
  // A cut whose copy back fails must not be delivered by the next request on the stream.
  const std::unique_ptr<EngineStream> stream = *engine_->CreateStream();
  const Bytes keys(4000, 1);
  auto splits = std::make_unique<std::vector<int64_t>>(1, -1);
  const int64_t position = 10;
  ASSERT_TRUE(stream->Begin().ok());
  MergeInput input;
  input.keys = *stream->Upload(keys.data(), 4000);
  input.count = 1000;
  SplitArgs args;
  args.inputs = &input;
  args.input_count = 1;
  args.positions = &position;
  args.position_count = 1;
  args.splits = splits->data();
  ASSERT_TRUE(stream->SplitRuns(args).ok());
  FailCudaCall(2, cudaErrorInvalidValue, cudaErrorInvalidValue);  // the event at the end, behind cudaSetDevice
  EXPECT_FALSE(stream->Finish().ok()) << FailedCudaCall();
  EXPECT_EQ(FailedCudaCall(), "cudaEventRecord");
  MendCuda();
  ASSERT_TRUE(stream->Begin().ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ((*splits)[0], -1);
}

}  // namespace
}  // namespace corank::testing
