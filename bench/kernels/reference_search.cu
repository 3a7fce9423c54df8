#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>

#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t ThrustUpperBound(const int64_t* d_offsets, int64_t objects, int64_t total, uint32_t* d_out,
                             cudaStream_t stream) {
  const thrust::counting_iterator<int64_t> first(0);
  thrust::upper_bound(thrust::cuda::par_nosync.on(stream), d_offsets, d_offsets + objects, first, first + total, d_out);
  return cudaGetLastError();
}

cudaError_t ThrustLowerBound(const uint64_t* d_haystack, int64_t haystack_count, const uint64_t* d_needles,
                             int64_t needle_count, uint32_t* d_out, cudaStream_t stream) {
  thrust::lower_bound(thrust::cuda::par_nosync.on(stream), d_haystack, d_haystack + haystack_count, d_needles,
                      d_needles + needle_count, d_out);
  return cudaGetLastError();
}

}  // namespace corank::bench
