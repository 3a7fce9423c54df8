// Every call of the CUDA engine to the CUDA runtime fails once, in every operator. The right status comes back, nothing
// leaks, and the next request succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/cuda/common/device.h"
#include "tests/faults/cuda_fault_fixture.h"
#include "tests/faults/engine_workloads.h"
#include "tests/faults/kernel_names.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

// The result of the CPU engine.
const std::vector<Bytes>& Wanted(const Workload& workload) {
  static std::map<std::string, std::vector<Bytes>>& known = *new std::map<std::string, std::vector<Bytes>>;
  const auto [entry, is_new] = known.try_emplace(workload.name);
  if (is_new) {
    WorkloadResult result;
    const absl::Status status = workload.run(**(*CreateCpuEngine({}))->CreateStream(), &result);
    EXPECT_TRUE(status.ok()) << status << " on the CPU, " << workload.name;
    entry->second = result.outputs;
  }
  return entry->second;
}

class CudaFaultTest : public CudaFixture {
 protected:
  // Fails each call in turn, on a stream that has run the same request before, and on a new one.
  void FailEachCall(const Workload& workload, const ErrorSet& errors) {
    const std::vector<Bytes>& wanted = Wanted(workload);
    const int64_t objects = CudaObjects();
    int64_t n = 1;
    for (bool reached = true; reached; ++n) {
      ASSERT_LT(n, kMostCalls) << "the request never gets through";
      if (!RunsNextCase()) continue;
      // Each run has a new stream with empty arenas, so that allocations are among the calls.
      FailCudaCall(n, errors.of_memory, errors.of_others);
      absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine_->CreateStream();
      absl::Status status = stream.status();
      WorkloadResult result;
      if (stream.ok()) status = workload.run(**stream, &result);
      reached = CudaHasFailed();
      const std::string where = " where call " + std::to_string(n) + ", " + FailedCudaCall() + ", fails";
      // Some calls only ask for advice or times. Their errors must not become the request's error.
      if (status.ok()) {
        EXPECT_TRUE(result.outputs == wanted) << "a wrong answer" << where;
      } else {
        EXPECT_EQ(status.code(), errors.Expected()) << status << where;
      }
      EXPECT_TRUE(!reached || !status.ok() || FailedCudaCallKind() == CudaCall::kOther) << "nobody noticed" << where;
      ExpectMended(workload, stream.ok() ? stream->get() : nullptr, errors, where);
      if (stream.ok()) stream->reset();
      EXPECT_EQ(CudaObjects(), objects) << "leaked" << where;
      if (HasFailure()) return;
    }
    RecordProperty(workload.name, std::to_string(n - 2) + " calls");
    std::printf("%-40s %4d calls fail, %s\n", workload.name.c_str(), static_cast<int>(n - 2), errors.name);
  }

  // The next request must not meet leftovers of the failed one.
  static void ExpectMended(const Workload& workload, EngineStream* stream, const ErrorSet& errors,
                           const std::string& where) {
    MendCuda();
    EXPECT_TRUE(TakeErrorLeftBehind() == cudaSuccess || errors.ruins)
        << "an innocent call would meet the error" << where;
    if (stream == nullptr) return;
    WorkloadResult result;
    const absl::Status next = workload.run(*stream, &result);
    EXPECT_TRUE(next.ok()) << next << " after a request" << where;
    EXPECT_TRUE(result.outputs == Wanted(workload)) << "a wrong answer after a request" << where;
  }
};

// Ensures that every launch of the engine is among the calls that fail below.
TEST_F(CudaFaultTest, EveryKernelIsLaunchedByAWorkload) {
  cuda::DeviceTraits device;
  ASSERT_EQ(cuda::GetDeviceTraits(&device), cudaSuccess);
  const bool has_all_paths = device.major == 9 && device.minor == 0;
  std::set<std::string> families;
  for (const Workload& workload : EngineWorkloads()) {
    SCOPED_TRACE(workload.name);
    const std::unique_ptr<EngineStream> stream = *engine_->CreateStream();
    ForgetLaunches();
    WorkloadResult result;
    const absl::Status status = workload.run(*stream, &result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(result.outputs == Wanted(workload)) << "a wrong answer";
    EXPECT_EQ(result.report.sort_algorithm, workload.sort_algorithm)
        << SortAlgorithmName(result.report.sort_algorithm) << " was taken";
    std::string launched;
    for (const std::string& kernel : LaunchedCudaKernels()) {
      launched += Demangled(kernel) + "\n";
      families.insert(KernelFamily(kernel));
    }
    for (const std::string& kernel : workload.kernels) {
      EXPECT_TRUE(!has_all_paths || launched.find(kernel) != launched.npos) << kernel << " is not among\n" << launched;
    }
  }
  if (!has_all_paths) GTEST_SKIP() << "which kernels are launched is known of GPUs of compute capability 9.0 only";
  std::set<std::string> missing;
  for (const std::string& kernel : CudaKernels()) missing.insert(KernelFamily(kernel));
  missing.erase("");                // kernels of others
  missing.erase("probe_cu Probe");  // only loaded, to test whether that works
  for (const std::string& family : families) missing.erase(family);
  for (const std::string& family : missing) ADD_FAILURE() << "no workload launches " << family;
}

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

// AUTO waits for a letter of the device, and checks from time to time whether it can still arrive.
TEST_F(CudaFaultTest, AStreamMayFailWhileItsLetterIsAwaited) {
  const Workload& workload = EngineWorkload("look at uniform keys");
  for (const ErrorSet& errors : {kPassing, kRuinous}) {
    SCOPED_TRACE(errors.name);
    const std::unique_ptr<EngineStream> stream = *engine_->CreateStream();
    WorkloadResult result;
    ASSERT_TRUE(workload.run(*stream, &result).ok());
    FailStreamQuery(errors.of_others);
    const absl::Status status = workload.run(*stream, &result);
    if (!CudaHasFailed()) GTEST_SKIP() << "nothing was awaited: the device did each launch at once";
    EXPECT_EQ(FailedCudaCall(), "cudaStreamQuery");
    EXPECT_EQ(status.code(), errors.other_code) << status;
    ExpectMended(workload, stream.get(), errors, " whose query fails");
  }
}

// If the driver refuses a copy, as between GPUs without a link, the copy goes through the host.
TEST_F(CudaFaultTest, ACopyThatTheDriverRefusesGoesThroughTheHost) {
  const Workload& copies = EngineWorkload("copies");
  const std::unique_ptr<EngineStream> stream = *engine_->CreateStream();
  int mended = 0;
  int64_t n = 1;
  for (bool reached = true; reached; ++n) {
    ASSERT_LT(n, kMostCalls) << "the request never gets through";
    FailCudaCall(n, cudaErrorInvalidValue, cudaErrorInvalidValue);
    WorkloadResult result;
    const absl::Status status = copies.run(*stream, &result);
    reached = CudaHasFailed();
    if (reached && FailedCudaCallKind() == CudaCall::kCopy && status.ok()) ++mended;
    if (status.ok()) {
      EXPECT_TRUE(result.outputs == Wanted(copies))
          << "a wrong answer where call " << n << ", " << FailedCudaCall() << ", fails";
    }
    MendCuda();
  }
  EXPECT_GT(mended, 0);
}

TEST_F(CudaFaultTest, EveryCallOfACopyThroughTheHostMayFail) {
  RefuseDeviceCopies(true);
  const Workload& copies = EngineWorkload("copies");
  WorkloadResult result;
  ASSERT_TRUE(copies.run(**engine_->CreateStream(), &result).ok()) << "from here on the engine keeps the memory";
  FailEachCall(copies, kPassing);
  FailEachCall(copies, kRuinous);
}

TEST_F(CudaFaultTest, AFailedRequestWritesNothingLater) {
  // If the copy of a cut to the host fails, the next request on the stream must not deliver the cut.
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
  FailCudaCall(2, cudaErrorInvalidValue, cudaErrorInvalidValue);  // the event at the end, after cudaSetDevice
  EXPECT_FALSE(stream->Finish().ok()) << FailedCudaCall();
  EXPECT_EQ(FailedCudaCall(), "cudaEventRecord");
  MendCuda();
  ASSERT_TRUE(stream->Begin().ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ((*splits)[0], -1);
}

// Tests without a GPU.

TEST(EngineWorkloadsTest, EachHasANameAndAnAnswer) {
  std::set<std::string> names;
  for (const Workload& workload : EngineWorkloads()) {
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
    Wanted(workload);
  }
}

TEST(KernelNamesTest, AKernelIsKnownByItsFileWhereItIsTheFilesOwn) {
  EXPECT_EQ(KernelFamily("_ZN6corank4cuda41_GLOBAL__N__1641da03_9_select_cu_2362d25312SelectKernelIjLb0EEEvT_"),
            "select_cu SelectKernel");
  EXPECT_EQ(KernelFamily("_ZN6corank4cuda10WalkKernelINS0_41_GLOBAL__N__17346603_9_expand_cu_4b1d27858ExpandOpEEEvT_"),
            "WalkKernel");
  EXPECT_EQ(KernelFamily("_ZN3cub11EmptyKernelIvEEvv"), "");
}

TEST(KernelNamesTest, TheBinaryHasTheKernelsOfTheEngine) {
  std::set<std::string> families;
  for (const std::string& kernel : CudaKernels()) {
    families.insert(KernelFamily(kernel));
    EXPECT_NE(Demangled(kernel), kernel);
  }
  // Kernels with the same name in two files, and one that belongs to no file.
  for (const char* family : {"statistics_cu SampleKernel", "column_codes_cu SampleKernel", "RadixPassKernel"}) {
    EXPECT_EQ(families.count(family), 1u) << family;
  }
}

}  // namespace
}  // namespace corank::testing
