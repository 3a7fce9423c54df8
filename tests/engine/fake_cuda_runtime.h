// A CUDA runtime on the host, for tests of streams, events and copies: it does what is enqueued in any order that CUDA
// might choose. Link it instead of CUDA's.
#ifndef CORANK_TESTS_ENGINE_FAKE_CUDA_RUNTIME_H_
#define CORANK_TESTS_ENGINE_FAKE_CUDA_RUNTIME_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>

namespace corank::testing {

struct FakeCopy {
  cudaStream_t stream = nullptr;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

/// Forgets all before. Streams and events must have been destroyed. The seed chooses the order of the work.
void StartFakeCuda(uint64_t seed);

/// Tells the GPU of memory. Copies of other memory, or by a stream or in the context of another GPU, are failures of
/// the test.
void OwnFakeMemory(const void* d_memory, int64_t bytes, int device);

/// Does up to `most` steps of what is enqueued, as far as copies may begin. Returns the copies done.
int64_t RunFakeWork(
    int64_t most, const std::function<bool(const FakeCopy&)>& may_begin = [](const FakeCopy&) { return true; });
/// Copies that are not done, on other streams than this one.
int64_t FakeCopiesLeft(cudaStream_t besides);

/// The n-th call from now on (from 1) fails and does nothing, unless it frees, waits or tells of errors. 0: none does.
void FailFakeCall(int64_t n);
/// The name of the call that has failed; empty: none has.
std::string FailedFakeCall();

/// Streams, events and blocks of pinned memory that exist, and blocks that were allocated.
int64_t FakeObjects();
int64_t FakeAllocations();

}  // namespace corank::testing

#endif  // CORANK_TESTS_ENGINE_FAKE_CUDA_RUNTIME_H_
