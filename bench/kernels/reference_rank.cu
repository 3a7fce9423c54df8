#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>

#include "bench/kernels/lender.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

/// For the head of a group `by_position ? i + 1 : 1`, for other keys 0.
struct Head {
  const uint32_t* keys;
  bool by_position;
  __host__ __device__ uint32_t operator()(uint32_t i) const {
    if (i > 0 && keys[i] == keys[i - 1]) return 0;
    return by_position ? i + 1 : 1;
  }
};

struct SegmentHead {
  const uint32_t* keys;
  uint32_t segment;
  __host__ __device__ uint32_t operator()(uint32_t i) const {
    return i % segment == 0 || keys[i] != keys[i - 1] ? 1 : 0;
  }
};

struct SegmentOf {
  uint32_t segment;
  __host__ __device__ uint32_t operator()(uint32_t i) const { return i / segment; }
};

}  // namespace

cudaError_t ThrustRanks(RankMethod method, const uint32_t* d_keys, int64_t count, uint32_t* d_ranks, void* d_workspace,
                        size_t workspace_bytes, cudaStream_t stream) {
  Lender lender(d_workspace, workspace_bytes);
  const auto policy = thrust::cuda::par_nosync(lender).on(stream);
  const auto heads =
      thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0), Head{d_keys, method == RankMethod::kMin});
  try {
    switch (method) {
      case RankMethod::kDense:
        thrust::inclusive_scan(policy, heads, heads + count, d_ranks);
        break;
      case RankMethod::kMin:
        thrust::inclusive_scan(policy, heads, heads + count, d_ranks, thrust::maximum<uint32_t>());
        break;
      case RankMethod::kOrdinal:
        thrust::sequence(policy, d_ranks, d_ranks + count, 1u);
        break;
      default:
        return cudaErrorInvalidValue;
    }
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const thrust::system_error&) {
    return cudaErrorUnknown;
  }
  return cudaGetLastError();
}

cudaError_t ThrustSegmentRanks(const uint32_t* d_keys, int64_t count, uint32_t segment, uint32_t* d_ranks,
                               void* d_workspace, size_t workspace_bytes, cudaStream_t stream) {
  Lender lender(d_workspace, workspace_bytes);
  const auto positions = thrust::counting_iterator<uint32_t>(0);
  const auto segments = thrust::make_transform_iterator(positions, SegmentOf{segment});
  const auto heads = thrust::make_transform_iterator(positions, SegmentHead{d_keys, segment});
  try {
    thrust::inclusive_scan_by_key(thrust::cuda::par_nosync(lender).on(stream), segments, segments + count, heads,
                                  d_ranks);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const thrust::system_error&) {
    return cudaErrorUnknown;
  }
  return cudaGetLastError();
}

}  // namespace corank::bench
