// Makes inputs and compares answers on the GPU, on the caller's stream.
#ifndef CORANK_BENCH_KERNELS_DEVICE_INPUTS_H_
#define CORANK_BENCH_KERNELS_DEVICE_INPUTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bench/harness/inputs.h"

namespace corank::bench {

/// Fills spec.count keys. Bits: uint32_t, uint64_t.
template <typename Bits>
cudaError_t FillKeys(const InputSpec& spec, Bits* d_keys, cudaStream_t stream);

/// d_values[i] = i.
cudaError_t FillPositions(uint32_t* d_values, int64_t count, cudaStream_t stream);

/// Counts uniform in [least, greatest].
cudaError_t FillCounts(int64_t* d_counts, int64_t count, int64_t least, int64_t greatest, cudaStream_t stream);

/// Flags of 1 and 0, at random. `share`: the share of 1.
cudaError_t FillFlags(uint8_t* d_flags, int64_t count, double share, cudaStream_t stream);

/// d_out[p(i)] = d_in[i], and the inverse, for a random-looking permutation p of `count` positions.
cudaError_t Permute(const int64_t* d_in, int64_t* d_out, int64_t count, cudaStream_t stream);
cudaError_t Unpermute(const int64_t* d_in, int64_t* d_out, int64_t count, cudaStream_t stream);

/// Adds the number of 4-byte words in which two arrays differ to *d_differences.
cudaError_t CountDifferences(const void* d_a, const void* d_b, int64_t bytes, uint64_t* d_differences,
                             cudaStream_t stream);

/// The same for `count` words that the reference holds backwards.
cudaError_t CountReversedDifferences(const uint32_t* d_ours, const uint32_t* d_reference, int64_t count,
                                     uint64_t* d_differences, cudaStream_t stream);

/// Adds to *d_differences the number of work items whose object or rank differs from a binary search in the exclusive
/// sums of the counts.
cudaError_t CheckLoadBalance(const int64_t* d_offsets, int64_t objects, const uint32_t* d_objects,
                             const uint32_t* d_ranks, int64_t total, uint64_t* d_differences, cudaStream_t stream);

/// The same for an expansion of d_values.
cudaError_t CheckExpand(const int64_t* d_offsets, int64_t intervals, const uint32_t* d_values, const uint32_t* d_out,
                        int64_t total, uint64_t* d_differences, cudaStream_t stream);

/// Reads all bytes, a multiple of 16, as fast as we know how. `d_out`: 16 bytes.
cudaError_t ReadAll(const void* d_from, int64_t bytes, void* d_out, cudaStream_t stream);

/// The smallest useful kernel: adds 1 to each of `count` words.
cudaError_t Increment(uint32_t* d_words, int64_t count, cudaStream_t stream);

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_DEVICE_INPUTS_H_
