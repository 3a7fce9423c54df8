#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/merge.h>

#include "bench/kernels/lender.h"
#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t ThrustInsert(const uint32_t* d_elements, int64_t count, const uint32_t* d_positions,
                         const uint32_t* d_inserted, int64_t inserted, uint32_t* d_out, void* d_workspace,
                         size_t workspace_bytes, cudaStream_t stream) {
  Lender lender(d_workspace, workspace_bytes);
  const thrust::counting_iterator<uint32_t> first(0);
  try {
    // Thrust puts equal keys of the first range first, so what is inserted at a position precedes the element there.
    thrust::merge_by_key(thrust::cuda::par_nosync(lender).on(stream), d_positions, d_positions + inserted, first,
                         first + count, d_inserted, d_elements, thrust::make_discard_iterator(), d_out);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const thrust::system_error&) {
    return cudaErrorUnknown;
  }
  return cudaGetLastError();
}

cudaError_t CubRemove(const SelectReference& args, const int64_t* d_positions, int64_t removed, uint8_t* d_flags,
                      void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  if (d_workspace != nullptr) {
    const cudaError_t error = cudaMemsetAsync(d_flags, 1, static_cast<size_t>(args.count), stream);
    if (error != cudaSuccess) return error;
    thrust::for_each(thrust::cuda::par_nosync.on(stream), d_positions, d_positions + removed,
                     [d_flags] __device__(int64_t position) { d_flags[position] = 0; });
  }
  return CubSelect(args, d_workspace, workspace_bytes, stream);
}

}  // namespace corank::bench
