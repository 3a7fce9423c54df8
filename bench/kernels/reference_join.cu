#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "bench/kernels/lender.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

/// Writes row i of the result, whose row of the left is known.
struct WriteRow {
  const uint32_t *owners, *lower, *right_rows;
  const int64_t* offsets;
  uint32_t *left_out, *right_out;
  __device__ void operator()(int64_t i) const {
    const uint32_t left = owners[i];
    left_out[i] = left;
    right_out[i] = right_rows[lower[left] + (i - offsets[left])];
  }
};

}  // namespace

cudaError_t ThrustInnerJoin(const int32_t* d_left, int64_t left_count, const int32_t* d_right, int64_t right_count,
                            uint32_t* d_left_out, uint32_t* d_right_out, int64_t room, int64_t* rows, void* d_workspace,
                            size_t workspace_bytes, cudaStream_t stream) {
  Lender lender(d_workspace, workspace_bytes);
  const auto policy = thrust::cuda::par_nosync(lender).on(stream);
  try {
    auto* const keys = lender.Array<int32_t>(right_count);
    auto* const right_rows = lender.Array<uint32_t>(right_count);
    thrust::copy(policy, d_right, d_right + right_count, keys);
    thrust::sequence(policy, right_rows, right_rows + right_count);
    thrust::stable_sort_by_key(policy, keys, keys + right_count, right_rows);
    auto* const lower = lender.Array<uint32_t>(left_count);
    auto* const upper = lender.Array<uint32_t>(left_count);
    thrust::lower_bound(policy, keys, keys + right_count, d_left, d_left + left_count, lower);
    thrust::upper_bound(policy, keys, keys + right_count, d_left, d_left + left_count, upper);
    auto* const offsets = lender.Array<int64_t>(left_count + 1);
    const auto partners = [lower, upper, left_count] __device__(int64_t i) {
      return i < left_count ? int64_t{upper[i]} - int64_t{lower[i]} : int64_t{0};
    };
    const thrust::counting_iterator<int64_t> first(0);
    thrust::transform(policy, first, first + left_count + 1, offsets, partners);
    thrust::exclusive_scan(policy, offsets, offsets + left_count + 1, offsets);
    cudaError_t error = cudaMemcpyAsync(rows, offsets + left_count, sizeof(*rows), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) return error;
    if (*rows > room) return cudaErrorInvalidValue;
    auto* const owners = lender.Array<uint32_t>(*rows);
    thrust::fill(policy, owners, owners + *rows, 0u);
    thrust::for_each(policy, first, first + left_count, [=] __device__(int64_t i) {
      if (upper[i] > lower[i]) owners[offsets[i]] = static_cast<uint32_t>(i);
    });
    thrust::inclusive_scan(policy, owners, owners + *rows, owners, thrust::maximum<uint32_t>());
    thrust::for_each(policy, first, first + *rows,
                     WriteRow{owners, lower, right_rows, offsets, d_left_out, d_right_out});
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const thrust::system_error&) {
    return cudaErrorUnknown;
  }
  return cudaGetLastError();
}

}  // namespace corank::bench
