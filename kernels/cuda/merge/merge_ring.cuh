// One input of a merge on its way through shared memory: a ring that a warp fills with asynchronous 16-byte copies
// while it merges.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_RING_CUH_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_RING_CUH_

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/common/tile_io.cuh"

namespace corank::cuda {

/// Elements are numbered so that number u lies at a multiple of kGranule elements in global memory, and in the ring,
/// where u is one; the input starts at number `first`. A value that every lane of the warp keeps a copy of.
template <typename Bits, int kCapacity, int kAheadBytes>
class MergeRing {
 public:
  static_assert((kCapacity & (kCapacity - 1)) == 0, "slots are numbers modulo the capacity");
  static constexpr int kMask = kCapacity - 1;
  static constexpr int kVector = kPerVector<Bits>;
  static constexpr int kGranule = 32 < kVector ? kVector : 32;  // elements that are loaded together: whole sectors
  static constexpr int kAhead = kAheadBytes / static_cast<int>(sizeof(Bits));
  /// Slot kCapacity repeats slot 0, so that the element after one in the ring is in the next slot.
  static constexpr int kSlots = kCapacity + kVector;

  /// keys[0, count) is to be merged; with `followed`, keys[count] is loaded too.
  __device__ __forceinline__ MergeRing(const Bits* keys, int count, bool followed, Bits* slots)
      : first_(static_cast<int>(reinterpret_cast<uintptr_t>(keys) / sizeof(Bits) % kGranule)),
        end_(first_ + count),
        loaded_end_(end_ + (followed ? 1 : 0)),
        keys_(keys - first_),
        slots_(slots),
        position_(first_) {}

  /// Starts to load what fits behind what is not consumed. Slots of what was consumed must no longer be read.
  __device__ __forceinline__ void Fill() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int target = min(loaded_end_, (position_ + kCapacity) & ~(kGranule - 1));
    const int whole = target & ~(kVector - 1);
    int from = loaded_;
    if (from < first_) {
      LoadPart(first_ & ~(kVector - 1));
      from = (first_ + kVector - 1) & ~(kVector - 1);
    }
    const Bits* const keys = keys_ + from;
#pragma unroll 1
    for (int i = lane * kVector; i < whole - from; i += 32 * kVector) {
      const int slot = (from + i) & kMask;
      __pipeline_memcpy_async(slots_ + slot, keys + i, 16);
      if (slot == 0) __pipeline_memcpy_async(slots_ + kCapacity, keys + i, 16);
    }
    if (whole < target && whole >= from) LoadPart(whole);
    loaded_ = target;
    if constexpr (kAhead > 0) FetchAhead();
  }

  __device__ __forceinline__ void Consume(int count) { position_ += count; }

  __device__ __forceinline__ int left() const { return end_ - position_; }
  __device__ __forceinline__ int consumed() const { return position_ - first_; }
  __device__ __forceinline__ int position() const { return position_; }
  /// Whether the element after number u is loaded or will be.
  __device__ __forceinline__ bool HasNext(int u) const { return u + 1 < loaded_end_; }
  __device__ __forceinline__ const Bits* slots() const { return slots_; }
  __device__ __forceinline__ Bits operator[](int u) const { return slots_[u & kMask]; }

 private:
  /// Asks for what will be loaded next into the L2 cache: more loads under way than the ring has room for.
  __device__ __forceinline__ void FetchAhead() {
    constexpr int kLine = 128 / static_cast<int>(sizeof(Bits));
    const int end = min(loaded_end_, loaded_ + kAhead);
    for (int u = fetched_ + static_cast<int>(threadIdx.x) % 32 * kLine; u < end; u += 32 * kLine) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(keys_ + max(u, first_)));
    }
    fetched_ = max(fetched_, (end + kLine - 1) & ~(kLine - 1));
  }
  /// Loads the elements of the vector at number u that are of the input.
  __device__ __forceinline__ void LoadPart(int u) {
    const int i = u + static_cast<int>(threadIdx.x) % 32;
    if (i < first_ || i >= u + kVector || i >= loaded_end_) return;
    slots_[i & kMask] = keys_[i];
    if ((u & kMask) == 0) slots_[kCapacity + (i & kMask)] = keys_[i];
  }

  const int first_, end_, loaded_end_;
  const Bits* const keys_;
  Bits* const slots_;
  int position_;
  int loaded_ = 0;
  int fetched_ = kCapacity;  // what is before it is loaded at once, or was asked to be in the L2 cache
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_RING_CUH_
