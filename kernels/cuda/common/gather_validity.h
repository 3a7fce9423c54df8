// Gathers validity: bits by row number.
#ifndef CORANK_KERNELS_CUDA_COMMON_GATHER_VALIDITY_H_
#define CORANK_KERNELS_CUDA_COMMON_GATHER_VALIDITY_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// Enqueues the gather (nothing if count is 0): bit i of the output is bit d_rows[i] of d_validity, for i in [0,
/// count); the bits after them in the last byte are 0. Bit i of a bitmap is bit i % 8 of its byte i / 8, the least
/// significant first. Row numbers have index_bytes bytes, 4 or 8. d_out has ValidityBytes(count) bytes and need not be
/// aligned. Needs no workspace. d_count: null, or the number of bits on the device, `count` at most, where only the
/// device knows it.
cudaError_t GatherValidity(const uint8_t* d_validity, const void* d_rows, int index_bytes, uint8_t* d_out,
                           int64_t count, cudaStream_t stream, const int64_t* d_count = nullptr);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_GATHER_VALIDITY_H_
