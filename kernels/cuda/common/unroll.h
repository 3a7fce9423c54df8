// Loop unrolling in code that both compilers read.
#ifndef CORANK_KERNELS_CUDA_COMMON_UNROLL_H_
#define CORANK_KERNELS_CUDA_COMMON_UNROLL_H_

/// Before a loop: it unrolls in device code, so that arrays indexed by it stay in registers; the host compiler, which
/// knows no such pragma, sees nothing.
#if defined(__CUDA_ARCH__)
#define CORANK_UNROLL _Pragma("unroll")
#else
#define CORANK_UNROLL
#endif

#endif  // CORANK_KERNELS_CUDA_COMMON_UNROLL_H_
