// Merges two sorted ranges of 4- or 8-byte integers without values, with the vector instructions of the CPU.
//
// One vector holds the largest keys so far. The next vector comes from the range whose next key is lower. A bitonic
// merge network splits both into the lower half, which is output, and the new upper half. Work: O(n log lanes) on
// vectors of that many lanes, one pass over memory, no branch that depends on keys. Equal keys are identical.
//
// Source: H. Inoue, T. Moriyama, H. Komatsu, T. Nakatani, "AA-Sort", PACT 2007; the network with H. Stone's shuffles,
// "Parallel Processing with the Perfect Shuffle", 1971.
#ifndef CORANK_KERNELS_CPU_VECTOR_MERGE_H_
#define CORANK_KERNELS_CPU_VECTOR_MERGE_H_

#include <cstdint>
#include <type_traits>

namespace corank::cpu {

/// Whether VectorMerge supports this type.
template <typename Item>
inline constexpr bool kVectorMerges = std::is_same_v<Item, uint32_t> || std::is_same_v<Item, uint64_t>;

/// Merges a[0, a_count) and b[0, b_count) into `out` in the unsigned order of key ^ flip. Returns whether both were in
/// order. If not, the order of the output is unspecified, but every access stays within the ranges.
bool VectorMerge(const uint32_t* a, int64_t a_count, const uint32_t* b, int64_t b_count, uint32_t flip, uint32_t* out);
bool VectorMerge(const uint64_t* a, int64_t a_count, const uint64_t* b, int64_t b_count, uint64_t flip, uint64_t* out);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_VECTOR_MERGE_H_
