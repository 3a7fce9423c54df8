// Sorts the keys of a block of threads, with a value each or alone: for kernels of other projects.
//
//   using Sort = corank::cuda::BlockSort<float, 256, 8>;
//   __global__ void SortTiles(float* keys, Sort::KeyCode order) {
//     __shared__ Sort::Storage storage;
//     float own[8];  // ... load items 8 * threadIdx.x to 8 * threadIdx.x + 7 of the tile
//     Sort(storage, order).Run(own);
//     // ... store them at the same places
//   }
//   SortTiles<<<tiles, 256, 0, stream>>>(d_keys, Sort::CodeFor(corank::Order::kAscending));
//
// Algorithm: Batcher's network in registers, then rounds of merge path in shared memory that double the runs
// (kernels/cuda/sort/tile_sort.cuh). O(n log n).
// Source: S. Baxter, moderngpu (mergesort), 2013.
#ifndef CORANK_CUDA_BLOCK_SORT_CUH_
#define CORANK_CUDA_BLOCK_SORT_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "corank/operands.h"
#include "kernels/common/key_order.h"
#include "kernels/cuda/sort/tile_sort.cuh"

namespace corank::cuda {

/// Key: an integer of 1 to 8 bytes, float or double. Floats are in the total order of IEEE 754: -0.0 comes before +0.0,
/// and NaNs come first or last by their sign. kThreads: the threads of the block, which is one-dimensional; a power of
/// two, 32 to 1024. kItems: keys of each thread. Value: void for keys alone; otherwise a trivially copyable type of up
/// to 8 bytes, for keys of up to 4 bytes.
///
/// Thread t holds items kItems * t to kItems * t + kItems - 1, before and after the sort. Stable. A tile with fewer
/// keys is filled with Last() at its end.
template <typename Key, int kThreads, int kItems, typename Value = void>
class BlockSort {
  static constexpr bool kValues = !std::is_void_v<Value>;
  static constexpr KeyType kType = corank::internal::KeyTypeOf<Key>();

 public:
  /// The order of the keys. A value type: made on the host by CodeFor, and an argument of the kernel.
  using KeyCode = KeyOrder<KeyBits<sizeof(Key)>, IsFloat(kType)>;
  static KeyCode CodeFor(Order order) { return KeyCode(kType, order); }

 private:
  using Sort = TileSort<kValues, kItems, kThreads, 1, KeyCode>;
  using Bits = typename Sort::Bits;
  using Element = typename Sort::Element;
  static_assert(kThreads >= 32 && kThreads <= 1024 && (kThreads & (kThreads - 1)) == 0, "a power of two");
  static_assert(!kValues || sizeof(Key) <= 4, "values move with keys of up to 4 bytes");

 public:
  /// Shared memory of the block. Free for other uses before and after a run, once all threads have got there.
  struct alignas(16) Storage {
    char bytes[Sort::kSharedBytes];
  };

  __device__ BlockSort(Storage& storage, const KeyCode& code) : storage_(storage), code_(code) {}

  /// A key that comes after all others, or equals them.
  __device__ Key Last() const { return FromBits(code_.Decode(static_cast<Bits>(~Bits{0}))); }

  /// Sorts keys alone. All threads of the block call it. It begins and ends with a barrier.
  __device__ void Run(Key (&keys)[kItems]) const {
    static_assert(!kValues, "give the values too");
    Element elements[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) elements[i] = code_.Encode(ToBits(keys[i]));
    Sort::SortElements(storage_.bytes, elements);
#pragma unroll
    for (int i = 0; i < kItems; ++i) keys[i] = FromBits(code_.Decode(static_cast<Bits>(elements[i])));
  }

  /// Sorts keys, and moves each value with its key. All threads of the block call it. It begins with a barrier.
  template <typename V>
  __device__ void Run(Key (&keys)[kItems], V (&values)[kItems]) const {
    static_assert(std::is_same_v<V, Value>, "the values of this BlockSort");
    static_assert(std::is_trivially_copyable_v<V> && sizeof(V) <= 8, "values of up to 8 bytes");
    using Elements = typename Sort::Elements;
    constexpr Element kPlaces = (Element{1} << Elements::kShift) - 1;
    const int first = static_cast<int>(threadIdx.x) * kItems;
    Element elements[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      elements[i] =
          static_cast<Element>(code_.Encode(ToBits(keys[i]))) << Elements::kShift | static_cast<Element>(first + i);
    }
    Sort::SortElements(storage_.bytes, elements);
    auto* const staged = reinterpret_cast<V*>(storage_.bytes);
#pragma unroll
    for (int i = 0; i < kItems; ++i) staged[first + i] = values[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      values[i] = staged[elements[i] & kPlaces];
      keys[i] = FromBits(code_.Decode(Elements::Rank(elements[i])));
    }
  }

 private:
  static __device__ Bits ToBits(Key key) {
    Bits bits;
    memcpy(&bits, &key, sizeof(bits));
    return bits;
  }
  static __device__ Key FromBits(Bits bits) {
    Key key;
    memcpy(&key, &bits, sizeof(key));
    return key;
  }

  Storage& storage_;
  const KeyCode& code_;
};

}  // namespace corank::cuda

#endif  // CORANK_CUDA_BLOCK_SORT_CUH_
