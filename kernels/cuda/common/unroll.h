// Loop unrolling in code for both compilers.
#ifndef CORANK_KERNELS_CUDA_COMMON_UNROLL_H_
#define CORANK_KERNELS_CUDA_COMMON_UNROLL_H_

/// Put it before a loop. Device code unrolls the loop, so that arrays indexed by it stay in registers. The host
/// compiler, which does not know the pragma, sees nothing.
#if defined(__CUDA_ARCH__)
#define CORANK_UNROLL _Pragma("unroll")
#else
#define CORANK_UNROLL
#endif

#endif  // CORANK_KERNELS_CUDA_COMMON_UNROLL_H_
