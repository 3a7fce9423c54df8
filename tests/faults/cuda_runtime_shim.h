// A CUDA runtime that fails when it is told to: every call of it that the engine makes goes through the linker's --wrap
// (tests/faults/CMakeLists.txt lists them) to a function here, which counts it and may answer with an error instead.
#ifndef CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_
#define CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace corank::testing {

/// What kind of call may fail.
enum class CudaCall : uint8_t {
  kAllocation,  // of device or pinned memory
  kCopy,        // and fills
  kLaunch,
  kOther,  // events, waits, attributes, devices
};

/// From now on the n-th call (from 1) answers with an error: `of_memory` where it allocates, `of_others` otherwise,
/// without doing anything. As in CUDA, cudaGetLastError then has it too. An error that ruins the context is the answer
/// of every later call, until MendCuda. 0: none.
void FailCudaCall(int64_t n, cudaError_t of_memory, cudaError_t of_others);
void MendCuda();

/// Whether the call that was to fail has come, and which it was: "cudaMallocAsync".
bool CudaHasFailed();
std::string FailedCudaCall();
CudaCall FailedCudaCallKind();

/// Streams, events, and blocks of device and pinned memory that were made and not yet given back.
int64_t CudaObjects();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_
