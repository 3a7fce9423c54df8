// The elements of the small sort, and their conversion from and to keys of any type.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_ELEMENT_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_ELEMENT_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {

/// The order of any key type, chosen at run time, so that one kernel serves all types.
class AnyKeyOrder {
 public:
  AnyKeyOrder(KeyType type, Order order) : bytes_(KeyBytes(type)), float_(IsFloat(type)) {
    WithKeyOrder(type, order, [this](const auto& with) { Set(with); });
  }

  /// Calls fn with the KeyOrder, if kLeast <= key bytes <= kMost.
  template <int kLeast, int kMost, typename Fn>
  __device__ __forceinline__ void With(Fn&& fn) const {
    if constexpr (kLeast <= 1) {
      if (bytes_ == 1) return fn(u8_);
    }
    if constexpr (kLeast <= 2 && kMost >= 2) {
      if (bytes_ == 2 && float_) return fn(f16_);
      if (bytes_ == 2) return fn(u16_);
    }
    if constexpr (kLeast <= 4 && kMost >= 4) {
      if (bytes_ == 4 && float_) return fn(f32_);
      if (bytes_ == 4) return fn(u32_);
    }
    if constexpr (kMost >= 8) {
      if (float_) return fn(f64_);
      return fn(u64_);
    }
  }

 private:
  void Set(const KeyOrder<uint8_t, false>& order) { u8_ = order; }
  void Set(const KeyOrder<uint16_t, false>& order) { u16_ = order; }
  void Set(const KeyOrder<uint16_t, true>& order) { f16_ = order; }
  void Set(const KeyOrder<uint32_t, false>& order) { u32_ = order; }
  void Set(const KeyOrder<uint32_t, true>& order) { f32_ = order; }
  void Set(const KeyOrder<uint64_t, false>& order) { u64_ = order; }
  void Set(const KeyOrder<uint64_t, true>& order) { f64_ = order; }

  int bytes_;
  bool float_;
  KeyOrder<uint8_t, false> u8_;
  KeyOrder<uint16_t, false> u16_;
  KeyOrder<uint16_t, true> f16_;
  KeyOrder<uint32_t, false> u32_;
  KeyOrder<uint32_t, true> f32_;
  KeyOrder<uint64_t, false> u64_;
  KeyOrder<uint64_t, true> f64_;
};

/// kInOrder: elements come in the order of their indices.
template <SmallForm kForm, bool kInOrder = true>
struct SmallElement {
  using Key = std::conditional_t<kForm == SmallForm::kRank32, uint32_t, uint64_t>;
  static constexpr bool kHasIndex = kForm == SmallForm::kRankIndex64;  // in a word of its own
  // Among equal keys, a run's place says which comes first.
  static constexpr bool kPlaceDecides = kInOrder || !kHasIndex;
  static constexpr bool kKnowsIndex = kHasIndex || kForm == SmallForm::kRankIndex32;  // the original index
  static constexpr int kLeastBytes = kForm == SmallForm::kRank64 || kHasIndex ? 8 : 1;
  static constexpr int kMostBytes = kForm == SmallForm::kRank32 || kForm == SmallForm::kRankIndex32 ? 4 : 8;

  static constexpr int kBytes = sizeof(Key) + (kHasIndex ? sizeof(uint32_t) : 0);  // in memory

  Key key;
  uint32_t index;  // unused unless kHasIndex

  static __device__ __forceinline__ SmallElement Last() { return {static_cast<Key>(~Key{0}), ~uint32_t{0}}; }

  template <typename Bits>
  static __device__ __forceinline__ SmallElement Make(Bits rank, uint32_t index) {
    if constexpr (kForm == SmallForm::kRankIndex32) {
      return {static_cast<uint64_t>(rank) << 32 | index, 0};
    } else {
      return {static_cast<Key>(rank), index};
    }
  }
  __device__ __forceinline__ uint32_t Index() const {
    return kForm == SmallForm::kRankIndex32 ? static_cast<uint32_t>(key) : index;
  }
  template <typename Bits>
  __device__ __forceinline__ Bits Rank() const {
    return static_cast<Bits>(kForm == SmallForm::kRankIndex32 ? key >> (kForm == SmallForm::kRankIndex32 ? 32 : 0)
                                                              : key);
  }
  __device__ __forceinline__ bool Before(const SmallElement& other) const {
    // Bitwise, to avoid a branch.
    if constexpr (kHasIndex) return (key < other.key) | ((key == other.key) & (index < other.index));
    return key < other.key;
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_ELEMENT_CUH_
