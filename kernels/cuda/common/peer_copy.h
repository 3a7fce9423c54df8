// Copies memory of another GPU by a kernel of this one.
#ifndef CORANK_KERNELS_CUDA_COMMON_PEER_COPY_H_
#define CORANK_KERNELS_CUDA_COMMON_PEER_COPY_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// Whether CopyFromPeer can copy between these places: they are as far from a multiple of 16 bytes as each other.
inline bool HaveOneAlignment(const void* a, const void* b) {
  return ((reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b)) & 15) == 0;
}

/// Copies `bytes` bytes that kernels of the stream's GPU can read, and whose place HaveOneAlignment with `d_to`.
/// Enqueues one launch (none if bytes is 0). Needs no workspace.
cudaError_t CopyFromPeer(void* d_to, const void* d_from, int64_t bytes, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_PEER_COPY_H_
