// Kernels of one block that use the block-level pieces, for tests. Arrays lie in device memory.
#ifndef CORANK_TESTS_KERNELS_BLOCK_KERNELS_H_
#define CORANK_TESTS_KERNELS_BLOCK_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "corank/span.h"
#include "kernels/common/types.h"

namespace corank::testing {

inline constexpr int kBlockThreads = 128;
inline constexpr int kBlockItems = 7;
inline constexpr int kBlockTile = kBlockThreads * kBlockItems;

/// One launch each on the default stream. At most kBlockTile keys.
template <typename Key>
cudaError_t BlockSorted(Span<const Key> keys, Span<Key> sorted, Order order);
template <typename Key, typename Value>
cudaError_t BlockSortedWithValues(Span<const Key> keys, Span<const Value> values, Span<Key> sorted,
                                  Span<Value> sorted_values, Order order);
template <typename Key>
cudaError_t BlockMerged(Span<const Key> a, Span<const Key> b, Span<Key> merged, Order order);

}  // namespace corank::testing

#endif  // CORANK_TESTS_KERNELS_BLOCK_KERNELS_H_
