// Loads one warp's share of a range, many elements at a time.
#ifndef CORANK_KERNELS_CUDA_COMMON_STRIDED_LOAD_CUH_
#define CORANK_KERNELS_CUDA_COMMON_STRIDED_LOAD_CUH_

namespace corank::cuda {

/// Calls use(i, in[i]) for i = begin, begin + 32 and so on below end. All loads of a batch are in flight before its
/// first use.
template <int kBatch, typename T, typename Use>
__device__ __forceinline__ void LoadStrided(const T* in, int begin, int end, Use use) {
#pragma unroll 1
  for (int first = begin; first < end; first += 32 * kBatch) {
    T loaded[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + 32 * k < end) loaded[k] = __ldg(in + (first + 32 * k));
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + 32 * k < end) use(first + 32 * k, loaded[k]);
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_STRIDED_LOAD_CUH_
