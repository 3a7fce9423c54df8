#include "kernels/cpu/vector_sort.h"

// Highway's library has one function for all processors and exports none for a single instruction set. This file
// compiles AVX2's once more, beside the compiler's baseline target.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_sort.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every target.
#include <hwy/contrib/sort/traits-inl.h>
#include <hwy/contrib/sort/vqsort-inl.h>

HWY_BEFORE_NAMESPACE();
namespace corank::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void SortU32(uint32_t* items, size_t count) {
  using Order = hn::detail::OrderAscending<uint32_t>;
  const hn::detail::SharedTraits<hn::detail::TraitsLane<Order>> traits;
  uint32_t* const own_buffer = nullptr;
  hn::Sort(hn::SortTag<uint32_t>(), traits, items, count, own_buffer);
}

}  // namespace corank::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

namespace corank::cpu {
namespace {

template <typename Item>
void SortByChoiceOfHighway(Item* items, int64_t count) {
  hwy::Sorter()(items, static_cast<size_t>(count), hwy::SortAscending());
}

}  // namespace

void VectorSort(uint16_t* items, int64_t count) { SortByChoiceOfHighway(items, count); }
void VectorSort(uint64_t* items, int64_t count) { SortByChoiceOfHighway(items, count); }
void VectorSort(hwy::uint128_t* items, int64_t count) { SortByChoiceOfHighway(items, count); }

void VectorSort(uint32_t* items, int64_t count) {
  static const bool by_avx2 = HasSlowCompressedStores();
  if (by_avx2) {
    VectorSortAvx2(items, count);
  } else {
    SortByChoiceOfHighway(items, count);
  }
}

#if HWY_ARCH_X86
bool HasSlowCompressedStores() {
  // Family 19h is Zen 3, which has no AVX-512, and Zen 4.
  return __builtin_cpu_is("amdfam19h") != 0 && (hwy::SupportedTargets() & HWY_AVX3) != 0;
}

void VectorSortAvx2(uint32_t* items, int64_t count) {
  // Cached: CPUID takes 20 us in a virtual machine, twenty times as long as a small sort.
  static const bool has_avx2 = (hwy::SupportedTargets() & HWY_AVX2) != 0;
  if (!has_avx2) return SortByChoiceOfHighway(items, count);
  N_AVX2::SortU32(items, static_cast<size_t>(count));
}
#else
bool HasSlowCompressedStores() { return false; }
void VectorSortAvx2(uint32_t* items, int64_t count) { SortByChoiceOfHighway(items, count); }
#endif

}  // namespace corank::cpu
#endif  // HWY_ONCE
