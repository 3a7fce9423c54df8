#include <cuda_runtime.h>

#include "corank/cuda/block_merge.cuh"
#include "corank/cuda/block_sort.cuh"
#include "tests/kernels/block_kernels.h"

namespace corank::testing {
namespace {

template <typename Sort, typename Key>
__global__ void SortTile(const Key* keys, Key* sorted, int count, const typename Sort::KeyCode code) {
  __shared__ typename Sort::Storage storage;
  const Sort sort(storage, code);
  Key own[kBlockItems];
  for (int i = 0; i < kBlockItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) * kBlockItems + i;
    own[i] = at < count ? keys[at] : sort.Last();
  }
  sort.Run(own);
  for (int i = 0; i < kBlockItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) * kBlockItems + i;
    if (at < count) sorted[at] = own[i];
  }
}

template <typename Sort, typename Key, typename Value>
__global__ void SortTileWithValues(const Key* keys, const Value* values, Key* sorted, Value* sorted_values, int count,
                                   const typename Sort::KeyCode code) {
  __shared__ typename Sort::Storage storage;
  const Sort sort(storage, code);
  Key own[kBlockItems];
  Value own_values[kBlockItems];
  for (int i = 0; i < kBlockItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) * kBlockItems + i;
    own[i] = at < count ? keys[at] : sort.Last();
    own_values[i] = at < count ? values[at] : Value{};
  }
  sort.Run(own, own_values);
  for (int i = 0; i < kBlockItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) * kBlockItems + i;
    if (at < count) sorted[at] = own[i];
    if (at < count) sorted_values[at] = own_values[i];
  }
}

template <typename Merge, typename Key>
__global__ void MergeTile(const Key* a, int a_count, const Key* b, int b_count, Key* merged,
                          const typename Merge::KeyRank rank) {
  __shared__ typename Merge::Storage storage;
  for (int i = static_cast<int>(threadIdx.x); i < a_count + b_count; i += kBlockThreads) {
    storage.keys[i] = i < a_count ? a[i] : b[i - a_count];
  }
  Key own[kBlockItems];
  Merge(storage, rank).Run(a_count, b_count, own);
  for (int i = 0; i < kBlockItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) * kBlockItems + i;
    if (at < a_count + b_count) merged[at] = own[i];
  }
}

}  // namespace

template <typename Key>
cudaError_t BlockSorted(Span<const Key> keys, Span<Key> sorted, Order order) {
  using Sort = cuda::BlockSort<Key, kBlockThreads, kBlockItems>;
  SortTile<Sort><<<1, kBlockThreads>>>(keys.data(), sorted.data(), static_cast<int>(keys.size()), Sort::CodeFor(order));
  return cudaGetLastError();
}

template <typename Key, typename Value>
cudaError_t BlockSortedWithValues(Span<const Key> keys, Span<const Value> values, Span<Key> sorted,
                                  Span<Value> sorted_values, Order order) {
  using Sort = cuda::BlockSort<Key, kBlockThreads, kBlockItems, Value>;
  SortTileWithValues<Sort><<<1, kBlockThreads>>>(keys.data(), values.data(), sorted.data(), sorted_values.data(),
                                                 static_cast<int>(keys.size()), Sort::CodeFor(order));
  return cudaGetLastError();
}

template <typename Key>
cudaError_t BlockMerged(Span<const Key> a, Span<const Key> b, Span<Key> merged, Order order) {
  using Merge = cuda::BlockMerge<Key, kBlockThreads, kBlockItems>;
  MergeTile<Merge><<<1, kBlockThreads>>>(a.data(), static_cast<int>(a.size()), b.data(), static_cast<int>(b.size()),
                                         merged.data(), Merge::RankFor(order));
  return cudaGetLastError();
}

template cudaError_t BlockSorted(Span<const int16_t>, Span<int16_t>, Order);
template cudaError_t BlockSorted(Span<const float>, Span<float>, Order);
template cudaError_t BlockSorted(Span<const uint64_t>, Span<uint64_t>, Order);
template cudaError_t BlockSortedWithValues(Span<const int16_t>, Span<const int64_t>, Span<int16_t>, Span<int64_t>,
                                           Order);
template cudaError_t BlockSortedWithValues(Span<const float>, Span<const uint32_t>, Span<float>, Span<uint32_t>, Order);
template cudaError_t BlockMerged(Span<const float>, Span<const float>, Span<float>, Order);
template cudaError_t BlockMerged(Span<const int64_t>, Span<const int64_t>, Span<int64_t>, Order);

}  // namespace corank::testing
