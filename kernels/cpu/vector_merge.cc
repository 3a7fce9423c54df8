#include "kernels/cpu/vector_merge.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/common/merge_path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_merge.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace corank::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Key>
HWY_INLINE bool InOrder(const Key* keys, int64_t count, Key flip) {
  bool wrong = false;
  for (int64_t i = 1; i < count; ++i) wrong |= (keys[i] ^ flip) < (keys[i - 1] ^ flip);
  return !wrong;
}

// Merges a few keys with many.
template <typename Key>
HWY_INLINE void MergeFew(const Key* few, const Key* few_end, const Key* many, const Key* many_end, Key flip, Key* out) {
  const auto before = [flip](Key a, Key b) { return (a ^ flip) < (b ^ flip); };
  for (; few < few_end; ++few) {
    const Key* const until = std::upper_bound(many, many_end, *few, before);
    out = std::copy(many, until, out);
    *out++ = *few;
    many = until;
  }
  std::copy(many, many_end, out);
}

// A merge in progress.
template <typename Key>
class Merger {
 public:
  HWY_INLINE Merger(const Key* a, const Key* a_end, const Key* b, const Key* b_end, Key flip, Key* out)
      : a_(a), a_end_(a_end), b_(b), b_end_(b_end), flip_(flip), out_(out) {
    // The network needs lanes in bit-reversed order, and one operand reversed.
    Lane forward[kLanes], backward[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t reversed = 0;
      for (int64_t bit = 1; bit < kLanes; bit *= 2) reversed = 2 * reversed + ((lane & bit) != 0);
      forward[lane] = static_cast<Lane>(reversed);
      backward[lane] = static_cast<Lane>(kLanes - 1 - reversed);
    }
    forward_ = hn::SetTableIndices(Tag(), forward);
    backward_ = hn::SetTableIndices(Tag(), backward);
    flips_ = hn::Set(Tag(), flip);
    wrong_ = hn::Lt(flips_, flips_);
    starts_ = a_end - a > kLanes && b_end - b > kLanes;
    upper_ = flips_;
    if (starts_) {
      upper_ = hn::TableLookupLanes(Load(a_), forward_);
      a_ += kLanes;
    }
  }

  HWY_INLINE bool CanStep() const { return starts_ && a_end_ - a_ > kLanes && b_end_ - b_ > kLanes; }

  // Outputs one vector.
  HWY_INLINE void Step() {
    const int from_b = (*b_ ^ flip_) < (*a_ ^ flip_);
    const Key* const heads[] = {a_, b_};  // a table, because the compiler would turn a choice into a branch
    auto lower = hn::TableLookupLanes(Load(heads[from_b]), backward_);
    a_ += kLanes * !from_b;
    b_ += kLanes * from_b;
    for (int64_t distance = kLanes; distance > 0; distance /= 2) {
      const auto low = hn::Min(lower, upper_);
      const auto high = hn::Max(lower, upper_);
#if HWY_TARGET == HWY_SCALAR
      lower = low;
      upper_ = high;
#else
      lower = hn::ConcatEven(Tag(), high, low);
      upper_ = hn::ConcatOdd(Tag(), high, low);
#endif
    }
    hn::StoreU(hn::Xor(hn::TableLookupLanes(lower, forward_), flips_), Tag(), out_);
    out_ += kLanes;
  }

  // Outputs the rest. Returns whether all keys were in order.
  HWY_INLINE bool Finish() {
    while (CanStep()) Step();
    Key waiting[kLanes], few[2 * kLanes];
    const int64_t waiting_count = starts_ ? kLanes : 0;
    if (starts_) hn::StoreU(hn::Xor(hn::TableLookupLanes(upper_, forward_), flips_), Tag(), waiting);
    const bool in_order = InOrder(a_, a_end_ - a_, flip_) && InOrder(b_, b_end_ - b_, flip_);
    if (a_end_ - a_ > b_end_ - b_) {
      std::swap(a_, b_);
      std::swap(a_end_, b_end_);
    }
    MergeFew(waiting, waiting + waiting_count, a_, a_end_, flip_, few);
    MergeFew(few, few + waiting_count + (a_end_ - a_), b_, b_end_, flip_, out_);
    return in_order && hn::AllFalse(Tag(), wrong_);
  }

 private:
  using Tag = hn::ScalableTag<Key>;
  using Lane = std::make_signed_t<Key>;
  static constexpr int64_t kLanes = HWY_LANES(Key);

  // Also reads the key after the vector, to check the order.
  HWY_INLINE hn::Vec<Tag> Load(const Key* from) {
    const auto keys = hn::Xor(hn::LoadU(Tag(), from), flips_);
    wrong_ = hn::Or(wrong_, hn::Lt(hn::Xor(hn::LoadU(Tag(), from + 1), flips_), keys));
    return keys;
  }

  const Key* a_;
  const Key* a_end_;
  const Key* b_;
  const Key* b_end_;
  const Key flip_;
  Key* out_;
  bool starts_;
  hn::Vec<Tag> upper_, flips_;
  hn::Mask<Tag> wrong_;
  decltype(hn::SetTableIndices(Tag(), static_cast<const Lane*>(nullptr))) forward_, backward_;
};

template <typename Key>
HWY_INLINE bool MergeOf(const Key* a, int64_t a_count, const Key* b, int64_t b_count, Key flip, Key* out) {
  // One merge waits for its own network, so two halves take turns.
  const int64_t half = (a_count + b_count) / 2;
  const int64_t a_half = CoRank(half, a, a_count, b, b_count, [flip](Key x, Key y) { return (x ^ flip) < (y ^ flip); });
  const int64_t b_half = half - a_half;
  Merger<Key> low(a, a + a_half, b, b + b_half, flip, out);
  Merger<Key> high(a + a_half, a + a_count, b + b_half, b + b_count, flip, out + half);
  while (low.CanStep() && high.CanStep()) {
    low.Step();
    high.Step();
  }
  const bool low_in_order = low.Finish();
  const bool high_in_order = high.Finish();
  const auto joins = [flip](const Key* keys, int64_t at, int64_t count) {
    return at == 0 || at == count || InOrder(keys + at - 1, 2, flip);
  };
  return low_in_order && high_in_order && joins(a, a_half, a_count) && joins(b, b_half, b_count);
}

bool MergeU32(const uint32_t* a, int64_t a_count, const uint32_t* b, int64_t b_count, uint32_t flip, uint32_t* out) {
  return MergeOf(a, a_count, b, b_count, flip, out);
}
bool MergeU64(const uint64_t* a, int64_t a_count, const uint64_t* b, int64_t b_count, uint64_t flip, uint64_t* out) {
  return MergeOf(a, a_count, b, b_count, flip, out);
}

}  // namespace corank::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace corank::cpu {

HWY_EXPORT(MergeU32);
HWY_EXPORT(MergeU64);

bool VectorMerge(const uint32_t* a, int64_t a_count, const uint32_t* b, int64_t b_count, uint32_t flip, uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(MergeU32)(a, a_count, b, b_count, flip, out);
}
bool VectorMerge(const uint64_t* a, int64_t a_count, const uint64_t* b, int64_t b_count, uint64_t flip, uint64_t* out) {
  return HWY_DYNAMIC_DISPATCH(MergeU64)(a, a_count, b, b_count, flip, out);
}

}  // namespace corank::cpu
#endif
