#include "tests/faults/cuda_runtime_shim.h"

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/faults/kernel_names.h"

namespace corank::testing {
namespace {

// One engine, one thread: these tests run nothing in parallel.
struct State {
  int64_t calls = 0;
  int64_t fails_at = 0;  // a value of `calls`; 0: never
  cudaError_t of_memory = cudaSuccess, of_others = cudaSuccess;
  const char* failed = nullptr;
  CudaCall failed_kind = CudaCall::kOther;
  cudaError_t ruined = cudaSuccess;
  cudaError_t last = cudaSuccess;  // cudaGetLastError's copy of an error that the shim made
  int64_t objects = 0;
  bool polls = false;  // the previous call was a poll
  bool refuses_device_copies = false;
  cudaError_t of_query = cudaSuccess;  // the result of the next cudaStreamQuery
  bool holds = false;                  // the device stops after the next copy
  void* d_ipc_memory = nullptr;
};
State state;
std::atomic<bool> is_asked = false;  // read by a CUDA thread

bool Ruins(cudaError_t error) { return error == cudaErrorIllegalAddress; }

// The error to return instead of making the call; cudaSuccess: make the call.
cudaError_t Enter(CudaCall kind, const char* name) {
  state.polls = false;
  ++state.calls;
  cudaError_t error = state.ruined;
  if (state.calls == state.fails_at) {
    error = kind == CudaCall::kAllocation ? state.of_memory : state.of_others;
    state.failed = name;
    state.failed_kind = kind;
    if (Ruins(error)) state.ruined = error;
  }
  if (error != cudaSuccess) state.last = error;
  return error;
}

// For calls that do not need the context and do not show that it is ruined.
cudaError_t EnterOutsideOfContext(const char* name) {
  return Ruins(state.of_others) ? cudaSuccess : Enter(CudaCall::kOther, name);
}

// A wait that polls is one call, so that a request makes the same number of calls each time.
cudaError_t EnterPoll(const char* name) {
  const cudaError_t error = state.polls ? state.ruined : Enter(CudaCall::kOther, name);
  state.polls = true;
  return error;
}

// Not forever: a tool may wait for each launch before the host continues, and nobody polls then.
void WaitUntilAsked(void*) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!is_asked && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

void FailCudaCall(int64_t n, cudaError_t of_memory, cudaError_t of_others) {
  MendCuda();
  state.fails_at = n == 0 ? 0 : state.calls + n;
  state.of_memory = of_memory;
  state.of_others = of_others;
  state.failed = nullptr;
}

void MendCuda() {
  state.fails_at = 0;
  state.ruined = cudaSuccess;
  state.of_query = cudaSuccess;
  state.holds = false;
  is_asked = true;
}

bool CudaHasFailed() { return state.failed != nullptr; }
std::string FailedCudaCall() { return state.failed == nullptr ? "" : state.failed; }
CudaCall FailedCudaCallKind() { return state.failed_kind; }
int64_t CudaObjects() { return state.objects; }

cudaError_t TakeErrorLeftBehind() {
  const cudaError_t error = state.last;
  state.last = cudaSuccess;
  return error;
}

void RefuseDeviceCopies(bool refuses) { state.refuses_device_copies = refuses; }

void FailStreamQuery(cudaError_t error) {
  FailCudaCall(0, error, error);
  state.of_query = error;
  state.holds = true;
  is_asked = false;
}

void StandInForIpcMemory(void* d_memory) { state.d_ipc_memory = d_memory; }

// WRAP(kind, change, name, (parameters), (arguments)): `change` is what a success adds to the objects.
#define WRAP(kind, change, name, parameters, arguments)                                             \
  extern "C" cudaError_t __real_##name parameters;                                                  \
  extern "C" cudaError_t __wrap_##name parameters {                                                 \
    if (const cudaError_t error = Enter(CudaCall::kind, #name); error != cudaSuccess) return error; \
    const cudaError_t result = __real_##name arguments;                                             \
    if (result == cudaSuccess) state.objects += (change);                                           \
    return result;                                                                                  \
  }

#define WRAP_OUTSIDE_OF_CONTEXT(name, parameters, arguments)                                        \
  extern "C" cudaError_t __real_##name parameters;                                                  \
  extern "C" cudaError_t __wrap_##name parameters {                                                 \
    if (const cudaError_t error = EnterOutsideOfContext(#name); error != cudaSuccess) return error; \
    return __real_##name arguments;                                                                 \
  }

// Records the kernel if the launch succeeds.
#define WRAP_LAUNCH(name, parameters, arguments)                                                       \
  extern "C" cudaError_t __real_##name parameters;                                                     \
  extern "C" cudaError_t __wrap_##name parameters {                                                    \
    if (const cudaError_t error = Enter(CudaCall::kLaunch, #name); error != cudaSuccess) return error; \
    const cudaError_t result = __real_##name arguments;                                                \
    if (result == cudaSuccess) NoteLaunch(kernel);                                                     \
    return result;                                                                                     \
  }

// Freeing always works, as in CUDA: a failure means a ruined context, whose memory is gone anyway.
#define WRAP_GIVE_BACK(name, parameters, arguments) \
  extern "C" cudaError_t __real_##name parameters;  \
  extern "C" cudaError_t __wrap_##name parameters { \
    --state.objects;                                \
    return __real_##name arguments;                 \
  }

WRAP(kAllocation, 1, cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream), (memory, bytes, stream))
WRAP(kAllocation, 1, cudaHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WRAP(kAllocation, 1, cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WRAP_GIVE_BACK(cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
WRAP_GIVE_BACK(cudaFreeHost, (void* memory), (memory))
WRAP_GIVE_BACK(cudaHostUnregister, (void* memory), (memory))

extern "C" cudaError_t __real_cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags);
extern "C" cudaError_t __wrap_cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags) {
  if (const cudaError_t error = Enter(CudaCall::kAllocation, "cudaIpcOpenMemHandle"); error != cudaSuccess)
    return error;
  *memory = state.d_ipc_memory;
  const cudaError_t result =
      state.d_ipc_memory != nullptr ? cudaSuccess : __real_cudaIpcOpenMemHandle(memory, handle, flags);
  if (result == cudaSuccess) ++state.objects;
  return result;
}
extern "C" cudaError_t __real_cudaIpcCloseMemHandle(void* memory);
extern "C" cudaError_t __wrap_cudaIpcCloseMemHandle(void* memory) {
  --state.objects;
  return memory == state.d_ipc_memory ? cudaSuccess : __real_cudaIpcCloseMemHandle(memory);
}

extern "C" cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                              cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  if (const cudaError_t error = Enter(CudaCall::kCopy, "cudaMemcpyAsync"); error != cudaSuccess) return error;
  if (kind == cudaMemcpyDeviceToDevice && state.refuses_device_copies) return state.last = cudaErrorInvalidValue;
  const cudaError_t result = __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
  if (result != cudaSuccess || !state.holds) return result;
  state.holds = false;
  return cudaLaunchHostFunc(stream, WaitUntilAsked, nullptr);
}
WRAP(kCopy, 0, cudaMemsetAsync, (void* memory, int value, size_t bytes, cudaStream_t stream),
     (memory, value, bytes, stream))

WRAP_LAUNCH(__cudaLaunchKernel,
            (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
            (kernel, grid, block, arguments, shared_bytes, stream))
WRAP_LAUNCH(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
            (config, kernel, arguments))
WRAP_LAUNCH(cudaLaunchCooperativeKernel,
            (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
            (kernel, grid, block, arguments, shared_bytes, stream))

WRAP(kOther, 1, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WRAP_GIVE_BACK(cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP(kOther, 1, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WRAP_GIVE_BACK(cudaEventDestroy, (cudaEvent_t event), (event))
WRAP(kOther, 0, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(kOther, 0, cudaEventElapsedTime, (float* milliseconds, cudaEvent_t from, cudaEvent_t to), (milliseconds, from, to))
WRAP(kOther, 0, cudaStreamSynchronize, (cudaStream_t stream), (stream))
WRAP(kOther, 0, cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
WRAP(kOther, 0, cudaSetDevice, (int device), (device))
WRAP(kOther, 0, cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
     (kernel, attribute, value))
WRAP(kOther, 0, cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel), (attributes, kernel))
WRAP(kOther, 0, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int* blocks, const void* kernel, int threads, size_t shared_bytes, unsigned flags),
     (blocks, kernel, threads, shared_bytes, flags))
WRAP(kOther, 0, cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer),
     (attributes, pointer))
WRAP(kOther, 0, cudaGetDriverEntryPointByVersion,
     (const char* symbol, void** function, unsigned version, unsigned long long flags,
      cudaDriverEntryPointQueryResult* found),
     (symbol, function, version, flags, found))
WRAP(kOther, 0, cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), (pool, device))
WRAP(kOther, 0, cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
     (pool, attribute, value))
WRAP(kOther, 0, cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count),
     (pool, access, count))
WRAP(kOther, 0, cudaDeviceCanAccessPeer, (int* can_access, int device, int peer), (can_access, device, peer))
WRAP(kOther, 0, cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest))
WRAP(kOther, 0, cudaDriverGetVersion, (int* version), (version))
WRAP(kOther, 0, cudaGetDeviceCount, (int* count), (count))
WRAP(kOther, 0, cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device))
WRAP_OUTSIDE_OF_CONTEXT(cudaGetDevice, (int* device), (device))
WRAP_OUTSIDE_OF_CONTEXT(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
                        (value, attribute, device))

extern "C" cudaError_t __real_cudaEventQuery(cudaEvent_t event);
extern "C" cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) {
  const cudaError_t error = EnterPoll("cudaEventQuery");
  return error != cudaSuccess ? error : __real_cudaEventQuery(event);
}
extern "C" cudaError_t __real_cudaStreamQuery(cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream) {
  is_asked = true;
  cudaError_t error = state.ruined;
  if (state.of_query != cudaSuccess) {
    error = state.of_query;
    state.of_query = cudaSuccess;
    state.failed = "cudaStreamQuery";
    state.failed_kind = CudaCall::kOther;
    if (Ruins(error)) state.ruined = error;
  }
  if (error != cudaSuccess) state.last = error;
  return error != cudaSuccess ? error : __real_cudaStreamQuery(stream);
}

// Also calls CUDA after an error that the shim made, to clear CUDA's own.
extern "C" cudaError_t __real_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError() {
  const cudaError_t real = __real_cudaGetLastError();
  const cudaError_t last = state.ruined != cudaSuccess ? state.ruined : state.last;
  state.last = cudaSuccess;
  return last != cudaSuccess ? last : real;
}
extern "C" cudaError_t __real_cudaPeekAtLastError();
extern "C" cudaError_t __wrap_cudaPeekAtLastError() {
  const cudaError_t last = state.ruined != cudaSuccess ? state.ruined : state.last;
  return last != cudaSuccess ? last : __real_cudaPeekAtLastError();
}

}  // namespace corank::testing
