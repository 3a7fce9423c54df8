#include <thrust/execution_policy.h>
#include <thrust/set_operations.h>

#include "bench/kernels/lender.h"
#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t ThrustSets(SetOperation operation, const uint32_t* d_left, int64_t left_count, const uint32_t* d_right,
                       int64_t right_count, uint32_t* d_out, int64_t* count, void* d_workspace, size_t workspace_bytes,
                       cudaStream_t stream) {
  Lender lender(d_workspace, workspace_bytes);
  const auto policy = thrust::cuda::par_nosync(lender).on(stream);
  const uint32_t *const left_end = d_left + left_count, *const right_end = d_right + right_count;
  uint32_t* end = d_out;
  try {
    switch (operation) {
      case SetOperation::kUnion:
        end = thrust::set_union(policy, d_left, left_end, d_right, right_end, d_out);
        break;
      case SetOperation::kIntersection:
        end = thrust::set_intersection(policy, d_left, left_end, d_right, right_end, d_out);
        break;
      case SetOperation::kDifference:
        end = thrust::set_difference(policy, d_left, left_end, d_right, right_end, d_out);
        break;
      case SetOperation::kSymmetricDifference:
        end = thrust::set_symmetric_difference(policy, d_left, left_end, d_right, right_end, d_out);
        break;
    }
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const thrust::system_error&) {
    return cudaErrorUnknown;
  }
  *count = end - d_out;
  return cudaGetLastError();
}

}  // namespace corank::bench
