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
/// of every later call, until MendCuda, but of those that ask nothing of the context; they are not counted then. Nor is
/// cudaStreamQuery, ever: whether a wait gets so far is a matter of time. 0: none.
void FailCudaCall(int64_t n, cudaError_t of_memory, cudaError_t of_others);
void MendCuda();

/// Whether the call that was to fail has come, and which it was: "cudaMallocAsync".
bool CudaHasFailed();
std::string FailedCudaCall();
CudaCall FailedCudaCallKind();

/// Of an error that was made here and that nobody has asked cudaGetLastError for: it, and from now on none. The next
/// launch of the thread would take it for its own.
cudaError_t TakeErrorLeftBehind();

/// Streams, events, and blocks of device, pinned and opened memory that were made and not yet given back.
int64_t CudaObjects();

/// Until it is told false: copies from device memory to device memory are refused, as by the driver between GPUs that
/// have no link.
void RefuseDeviceCopies(bool refuses);

/// The next cudaStreamQuery answers with this error, and there is one: the device stops behind the next copy until it
/// is asked. Until MendCuda.
void FailStreamQuery(cudaError_t error);

/// Memory that cudaIpcOpenMemHandle answers with, whatever the handle: a process cannot open its own, and another one
/// would be needed. Null: none, and CUDA is asked.
void StandInForIpcMemory(void* d_memory);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_
