// VQSort of Highway (Wassenberg et al., "Vectorized and performance-portable Quicksort", 2022), with the instruction
// set that is fastest on this processor. Unstable, in place, on the calling thread. Any thread may call it.
#ifndef CORANK_KERNELS_CPU_VECTOR_SORT_H_
#define CORANK_KERNELS_CPU_VECTOR_SORT_H_

#include <hwy/base.h>

#include <cstdint>

namespace corank::cpu {

/// Sorts items[0, count) in ascending order.
void VectorSort(uint16_t* items, int64_t count);
void VectorSort(uint32_t* items, int64_t count);
void VectorSort(uint64_t* items, int64_t count);
void VectorSort(hwy::uint128_t* items, int64_t count);

/// Whether this processor has AVX-512 but stores compressed vectors of 4-byte lanes slowly (Zen 4). VectorSort then
/// uses VectorSortAvx2 for them.
bool HasSlowCompressedStores();

/// VectorSort with AVX2 instructions, whatever Highway would choose. Without AVX2, the same as VectorSort.
void VectorSortAvx2(uint32_t* items, int64_t count);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_VECTOR_SORT_H_
