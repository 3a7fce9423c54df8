// A CUDA runtime that fails on request. The linker's --wrap (listed in tests/faults/CMakeLists.txt) redirects every
// runtime call of the engine to a function here, which counts it and may return an error instead.
#ifndef CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_
#define CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace corank::testing {

/// The kinds of calls that may fail.
enum class CudaCall : uint8_t {
  kAllocation,  // of device or pinned memory
  kCopy,        // and fills
  kLaunch,
  kOther,  // events, waits, attributes, devices
};

/// From now on, the n-th call (from 1) does nothing and returns an error: `of_memory` if it allocates, `of_others`
/// otherwise. As in CUDA, cudaGetLastError then returns it too. After an error that ruins the context, every later call
/// returns it until MendCuda, except calls that do not need the context; those are then not counted. cudaStreamQuery is
/// never counted, because its number depends on timing. n of 0: no call fails.
void FailCudaCall(int64_t n, cudaError_t of_memory, cudaError_t of_others);
void MendCuda();

/// Whether the call has failed, and its name, such as "cudaMallocAsync".
bool CudaHasFailed();
std::string FailedCudaCall();
CudaCall FailedCudaCallKind();

/// An error that the shim made and that nobody has cleared with cudaGetLastError. Clears it. The next launch of the
/// thread would take it for its own.
cudaError_t TakeErrorLeftBehind();

/// The number of streams, events, and blocks of device, pinned and opened memory that exist.
int64_t CudaObjects();

/// While `refuses`, copies from device memory to device memory fail, as the driver's do between GPUs without a link.
void RefuseDeviceCopies(bool refuses);

/// The next cudaStreamQuery returns this error. To ensure that there is one, the device stops after the next copy until
/// the query. Lasts until MendCuda.
void FailStreamQuery(cudaError_t error);

/// Memory that cudaIpcOpenMemHandle returns for any handle: a process cannot open its own handles, and a test should
/// not need a second process. Null: CUDA decides.
void StandInForIpcMemory(void* d_memory);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_CUDA_RUNTIME_SHIM_H_
