#include "tests/faults/cuda_runtime_shim.h"

#include <cuda_runtime.h>

namespace corank::testing {
namespace {

// One engine, one thread: these tests run nothing at the same time.
struct State {
  int64_t calls = 0;
  int64_t fails_at = 0;  // a value of `calls`; 0: never
  cudaError_t of_memory = cudaSuccess, of_others = cudaSuccess;
  const char* failed = nullptr;
  CudaCall failed_kind = CudaCall::kOther;
  cudaError_t ruined = cudaSuccess;
  cudaError_t last = cudaSuccess;  // what cudaGetLastError has of an error that was made here
  int64_t objects = 0;
  bool polls = false;  // the call before was one that asks whether something is done
};
State state;

bool Ruins(cudaError_t error) { return error == cudaErrorIllegalAddress; }

// What the call answers instead of being made; cudaSuccess: it is to be made.
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

// A wait that asks again and again is one call, so that a request makes as many each time.
cudaError_t EnterPoll(const char* name) {
  const cudaError_t error = state.polls ? state.ruined : Enter(CudaCall::kOther, name);
  state.polls = true;
  return error;
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
}

bool CudaHasFailed() { return state.failed != nullptr; }
std::string FailedCudaCall() { return state.failed == nullptr ? "" : state.failed; }
CudaCall FailedCudaCallKind() { return state.failed_kind; }
int64_t CudaObjects() { return state.objects; }

// WRAP(kind, objects, result, name, (parameters), (arguments)): `objects` is what a success adds.
#define WRAP(kind, change, name, parameters, arguments)                                             \
  extern "C" cudaError_t __real_##name parameters;                                                  \
  extern "C" cudaError_t __wrap_##name parameters {                                                 \
    if (const cudaError_t error = Enter(CudaCall::kind, #name); error != cudaSuccess) return error; \
    const cudaError_t result = __real_##name arguments;                                             \
    if (result == cudaSuccess) state.objects += (change);                                           \
    return result;                                                                                  \
  }

// Giving back always works, as it does in CUDA: what fails there is a ruined context, whose memory is gone anyway.
#define WRAP_GIVE_BACK(name, parameters, arguments) \
  extern "C" cudaError_t __real_##name parameters;  \
  extern "C" cudaError_t __wrap_##name parameters { \
    --state.objects;                                \
    return __real_##name arguments;                 \
  }

WRAP(kAllocation, 1, cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream), (memory, bytes, stream))
WRAP(kAllocation, 1, cudaHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WRAP(kAllocation, 0, cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WRAP_GIVE_BACK(cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
WRAP_GIVE_BACK(cudaFreeHost, (void* memory), (memory))

WRAP(kCopy, 0, cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream))
WRAP(kCopy, 0, cudaMemsetAsync, (void* memory, int value, size_t bytes, cudaStream_t stream),
     (memory, value, bytes, stream))

WRAP(kLaunch, 0, __cudaLaunchKernel,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
     (kernel, grid, block, arguments, shared_bytes, stream))
WRAP(kLaunch, 0, cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
     (config, kernel, arguments))
WRAP(kLaunch, 0, cudaLaunchCooperativeKernel,
     (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
     (kernel, grid, block, arguments, shared_bytes, stream))

WRAP(kOther, 1, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WRAP_GIVE_BACK(cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP(kOther, 1, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WRAP_GIVE_BACK(cudaEventDestroy, (cudaEvent_t event), (event))
WRAP(kOther, 0, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(kOther, 0, cudaEventSynchronize, (cudaEvent_t event), (event))
WRAP(kOther, 0, cudaEventElapsedTime, (float* milliseconds, cudaEvent_t from, cudaEvent_t to), (milliseconds, from, to))
WRAP(kOther, 0, cudaStreamSynchronize, (cudaStream_t stream), (stream))
WRAP(kOther, 0, cudaSetDevice, (int device), (device))
WRAP(kOther, 0, cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
     (kernel, attribute, value))

extern "C" cudaError_t __real_cudaEventQuery(cudaEvent_t event);
extern "C" cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) {
  const cudaError_t error = EnterPoll("cudaEventQuery");
  return error != cudaSuccess ? error : __real_cudaEventQuery(event);
}
extern "C" cudaError_t __real_cudaStreamQuery(cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t error = EnterPoll("cudaStreamQuery");
  return error != cudaSuccess ? error : __real_cudaStreamQuery(stream);
}

// Asks in CUDA itself also after an error that was made here: it clears what there is.
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
