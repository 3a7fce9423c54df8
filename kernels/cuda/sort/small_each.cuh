// Many small sorts in one launch: one block sorts each array of keys, as the small sort does with arrays that fit into
// one block.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_EACH_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_EACH_CUH_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/small_sort.cuh"

namespace corank::cuda {

struct SmallArray {
  const void* keys_in;
  void* keys_out;
  int count;  // 1 to kSortEachKeys
};

struct SmallArrays {
  AnyKeyOrder order;
  SmallArray arrays[kSmallArrays];
};
static_assert(sizeof(SmallArrays) <= 4096, "what any GPU takes as parameters of a kernel");
static_assert(kSortEachKeys <= 1024 * kSmallArrayItems, "one block");

template <SmallForm kForm>
__global__ void __launch_bounds__(1024) SmallEachKernel(const __grid_constant__ SmallArrays all) {
  using Sorter = SmallSorter<kForm, kSmallArrayItems>;
  using Element = SmallElement<kForm>;
  extern __shared__ uint4 dynamic_shared[];
  __shared__ typename Sorter::Shared shared;
  auto* const keys = reinterpret_cast<typename Element::Key*>(dynamic_shared);
  const TileView<Element> tile{keys, reinterpret_cast<uint32_t*>(keys + Sorter::Capacity())};
  const SmallArray array = all.arrays[blockIdx.x];
  SmallPass<kForm> pass{all.order, array.keys_in, array.keys_out, nullptr, nullptr, 0, array.count, {}};
  const Sorter sorter{pass, tile, shared};
  Element items[kSmallArrayItems];
  sorter.LoadInput(0, array.count, items);
  SortTile(tile, array.count, items);
  if constexpr (!Element::kKnowsIndex) return sorter.StoreResult(0, array.count, items);
  // Float keys are fetched by index, from here: in pinned memory each fetch would be a read over the bus.
  __syncthreads();
  pass.order.template With<Element::kLeastBytes, Element::kMostBytes>([&](const auto& order) {
    using Bits = typename KeyOrderTraits<std::decay_t<decltype(order)>>::Bits;
    auto* const raw = reinterpret_cast<Bits*>(dynamic_shared);
    for (int i = static_cast<int>(threadIdx.x); i < array.count; i += static_cast<int>(blockDim.x)) {
      raw[i] = static_cast<const Bits*>(array.keys_in)[i];
    }
  });
  __syncthreads();
  pass.keys_in = dynamic_shared;
  sorter.StoreResult(0, array.count, items);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_EACH_CUH_
