// VQSort of Highway (Wassenberg et al., "Vectorized and performance-portable Quicksort", 2022), by the code that is
// fastest on this processor. Unstable, in place, on the calling thread; any thread may call.
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

/// Whether this processor stores compressed vectors of 4-byte lanes slowly although it has AVX-512 (Zen 4), so that
/// VectorSort takes VectorSortAvx2 for them.
bool HasSlowCompressedStores();

/// VectorSort by AVX2's instructions, whatever Highway would choose; without those, like VectorSort elsewhere.
void VectorSortAvx2(uint32_t* items, int64_t count);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_VECTOR_SORT_H_
