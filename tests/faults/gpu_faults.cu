#include <cuda_runtime.h>

#include <cstdint>

#include "tests/faults/gpu_faults.h"

namespace corank::testing {
namespace {

__global__ void WriteTo(uintptr_t address, uint64_t after_ns) {
  uint64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < after_ns);
  *reinterpret_cast<volatile int*>(address) = 1;
}

// The effect of a failed assert(), also if NDEBUG removes assert().
__global__ void Fail() { __trap(); }

// An address outside of shared memory: the instruction itself faults.
__global__ void Misuse() { asm volatile("{ .reg .b32 r; mov.b32 r, 0x7ffffff0; st.shared.b32 [r], r; }" ::: "memory"); }

__global__ void Spin(volatile int* never) {
  while (*never == 0) __nanosleep(1000);
}

bool Launched(cudaError_t made_stream) { return made_stream == cudaSuccess && cudaGetLastError() == cudaSuccess; }

cudaError_t MakeStream(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); }

}  // namespace

bool WriteOutOfBounds(int after_milliseconds) {
  cudaStream_t stream = nullptr;
  const cudaError_t made = MakeStream(&stream);
  WriteTo<<<1, 1, 0, stream>>>(0x10, static_cast<uint64_t>(after_milliseconds) * 1'000'000);
  return Launched(made);
}

bool FailAssertion() {
  cudaStream_t stream = nullptr;
  const cudaError_t made = MakeStream(&stream);
  Fail<<<1, 1, 0, stream>>>();
  return Launched(made);
}

bool RunIllegalInstruction() {
  cudaStream_t stream = nullptr;
  const cudaError_t made = MakeStream(&stream);
  Misuse<<<1, 1, 0, stream>>>();
  return Launched(made);
}

bool SpinForEver() {
  cudaStream_t stream = nullptr;
  const cudaError_t made = MakeStream(&stream);
  int* never = nullptr;
  if (cudaMalloc(&never, sizeof(int)) != cudaSuccess) return false;
  if (cudaMemset(never, 0, sizeof(int)) != cudaSuccess) return false;
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return false;
  // Enough threads to leave no room for another block on any multiprocessor.
  const int blocks = properties.multiProcessorCount * properties.maxThreadsPerMultiProcessor / 1024;
  Spin<<<blocks, 1024, 0, stream>>>(never);
  return Launched(made);
}

}  // namespace corank::testing
