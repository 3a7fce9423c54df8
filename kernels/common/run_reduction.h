// The reduction of runs of values: sums, minima and maxima, with the same bits on every engine.
//
// Floating-point sums depend on their order, so the order is part of the definition. Positions of the array are the
// leaves of a binary tree, in which a node covers 2^k positions from a multiple of 2^k on. The sum of a run is that of
// the smallest node that covers it, where positions outside the run count as nothing. So a run of n values has log2(n)
// roundings on each path, as in pairwise summation, and neither tiles nor threads change a bit.
//
// An operation has these members:
// - Value: the bits of a value. Sum: the accumulator. Out: the bits of a result.
// - kOrdered: whether the order of operands matters.
// - kSubtracts: whether a - b + b is a for all sums, so that the sum of a run is the difference of two prefix sums.
// - Identity(): for all x, Add(x, Identity()) is x.
// - Nothing(): the value that stands for a null. For all x that are made of values, Add(x, FromValue(Nothing())) is x.
// - FromValue(Value), Add(Sum, Sum).
// - Finish(Sum, Out*): false if the result does not fit.
#ifndef CORANK_KERNELS_COMMON_RUN_REDUCTION_H_
#define CORANK_KERNELS_COMMON_RUN_REDUCTION_H_

#include <cstdint>
#include <cstring>

#include "kernels/common/key_order.h"
#include "kernels/common/types.h"

namespace corank {

using Int128 = __int128;

template <typename To, typename From>
CORANK_HOST_DEVICE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// The number behind the bits of a float of any width. Exact.
template <KeyType kType, typename Bits>
CORANK_HOST_DEVICE double FloatValue(Bits bits) {
  if constexpr (kType == KeyType::kFloat64) {
    return BitCast<double>(bits);
  } else if constexpr (kType == KeyType::kFloat32) {
    return static_cast<double>(BitCast<float>(bits));
  } else if constexpr (kType == KeyType::kBfloat16) {
    return static_cast<double>(BitCast<float>(static_cast<uint32_t>(bits) << 16));
  } else {
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFF) << 13;
    // The factor moves the exponent from the bias of 16 bits to that of 32; infinities and NaNs keep theirs.
    const bool is_finite = (bits & 0x7C00) != 0x7C00;
    const double value = is_finite ? static_cast<double>(BitCast<float>(magnitude)) * 0x1p112
                                   : static_cast<double>(BitCast<float>(magnitude | 0x7F800000u));
    return (bits & 0x8000) != 0 ? -value : value;
  }
}

/// The bits of -0.0.
template <typename Bits>
constexpr Bits NegativeZero() {
  return static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
}

/// Sums of floats.
template <KeyType kType, typename Bits>
struct FloatSum {
  using Value = Bits;
  using Sum = double;
  using Out = uint64_t;
  static constexpr bool kOrdered = true;
  static constexpr bool kSubtracts = false;

  CORANK_HOST_DEVICE Sum Identity() const { return -0.0; }
  CORANK_HOST_DEVICE Value Nothing() const { return NegativeZero<Bits>(); }
  CORANK_HOST_DEVICE Sum FromValue(Value value) const { return FloatValue<kType>(value); }
  CORANK_HOST_DEVICE Sum Add(Sum a, Sum b) const { return a + b; }
  CORANK_HOST_DEVICE bool Finish(Sum sum, Out* out) const {
    constexpr uint64_t kSign = uint64_t{1} << 63, kInfinity = 0x7FF0000000000000, kNan = 0x7FF8000000000000;
    const uint64_t bits = BitCast<uint64_t>(sum);
    *out = (bits & ~kSign) > kInfinity ? kNan : bits;  // processors differ in the bits of the NaNs that they make
    return true;
  }
};

/// Sums of integers of type Number. Accumulator is wide enough for all values together.
template <typename Number, typename Accumulator>
struct IntegerSum {
  using Value = Number;
  using Sum = Accumulator;
  using Out = uint64_t;
  static constexpr bool kOrdered = false;
  static constexpr bool kSubtracts = true;

  CORANK_HOST_DEVICE Sum Identity() const { return 0; }
  CORANK_HOST_DEVICE Value Nothing() const { return 0; }
  CORANK_HOST_DEVICE Sum FromValue(Value value) const { return static_cast<Sum>(value); }
  CORANK_HOST_DEVICE Sum Add(Sum a, Sum b) const { return a + b; }
  CORANK_HOST_DEVICE bool Finish(Sum sum, Out* out) const {
    *out = static_cast<Out>(sum);
    constexpr bool kIsSigned = static_cast<Number>(-1) < static_cast<Number>(0);
    const Sum wrapped = kIsSigned ? static_cast<Sum>(static_cast<int64_t>(*out)) : static_cast<Sum>(*out);
    return wrapped == sum;
  }
};

/// Minima in the order of sorted keys; with the descending order, maxima.
template <typename Bits, bool kFloat>
struct LeastValue {
  using Value = Bits;
  using Sum = Bits;  // a rank
  using Out = Bits;
  static constexpr bool kOrdered = false;
  static constexpr bool kSubtracts = false;
  KeyOrder<Bits, kFloat> order;
  Bits nothing;  // the last value of the order

  CORANK_HOST_DEVICE Sum Identity() const { return static_cast<Sum>(~Sum{0}); }
  CORANK_HOST_DEVICE Value Nothing() const { return nothing; }
  CORANK_HOST_DEVICE Sum FromValue(Value value) const { return order.RankOfRaw(value); }
  CORANK_HOST_DEVICE Sum Add(Sum a, Sum b) const { return b < a ? b : a; }
  CORANK_HOST_DEVICE bool Finish(Sum rank, Out* out) const {
    const Bits value = order.Decode(rank);
    *out = KeyOrder<Bits, kFloat>::IsFloatZero(value) ? Bits{0} : value;
    return true;
  }
};

/// The most integers of up to 32 bits whose sum 63 bits hold.
inline constexpr int64_t kMostNarrowSum = int64_t{1} << 31;

/// Calls fn(operation) with the sum of up to `count` values of `type`.
template <typename Fn>
auto WithSum(KeyType type, int64_t count, Fn&& fn) {
  const auto narrow = [&](auto number) {
    using Number = decltype(number);
    return count <= kMostNarrowSum ? fn(IntegerSum<Number, int64_t>()) : fn(IntegerSum<Number, Int128>());
  };
  switch (type) {
    case KeyType::kInt8:
      return narrow(int8_t{});
    case KeyType::kInt16:
      return narrow(int16_t{});
    case KeyType::kInt32:
      return narrow(int32_t{});
    case KeyType::kInt64:
      return fn(IntegerSum<int64_t, Int128>());
    case KeyType::kUint8:
      return narrow(uint8_t{});
    case KeyType::kUint16:
      return narrow(uint16_t{});
    case KeyType::kUint32:
      return narrow(uint32_t{});
    case KeyType::kUint64:
      return fn(IntegerSum<uint64_t, Int128>());
    case KeyType::kFloat16:
      return fn(FloatSum<KeyType::kFloat16, uint16_t>());
    case KeyType::kBfloat16:
      return fn(FloatSum<KeyType::kBfloat16, uint16_t>());
    case KeyType::kFloat32:
      return fn(FloatSum<KeyType::kFloat32, uint32_t>());
    default:
      return fn(FloatSum<KeyType::kFloat64, uint64_t>());
  }
}

/// The bits of -infinity of a float type.
template <typename Bits>
constexpr Bits NegativeInfinity(KeyType type) {
  switch (type) {
    case KeyType::kFloat16:
      return static_cast<Bits>(0xFC00);
    case KeyType::kBfloat16:
      return static_cast<Bits>(0xFF80);
    case KeyType::kFloat32:
      return static_cast<Bits>(0xFF800000);
    default:
      return static_cast<Bits>(0xFFF0000000000000);
  }
}

template <typename Bits, bool kFloat>
LeastValue<Bits, kFloat> MakeLeastValue(const KeyOrder<Bits, kFloat>& order, KeyType type, bool maximum) {
  // Ascending, NaNs are the last; descending, they are the first.
  return {order, kFloat && maximum ? NegativeInfinity<Bits>(type) : order.Decode(static_cast<Bits>(~Bits{0}))};
}

/// Calls fn(operation) with the minimum of values of `type`, or the maximum.
template <typename Fn>
auto WithExtreme(KeyType type, bool maximum, Fn&& fn) {
  return WithKeyOrder(type, maximum ? Order::kDescending : Order::kAscending,
                      [&](auto order) { return fn(MakeLeastValue(order, type, maximum)); });
}

/// The runs that cross an edge of a node of the tree. Runs inside the node are complete.
template <typename Sum>
struct RunNode {
  Sum lead;       // the values before the first head; all values if there is no head
  Sum tail;       // the values from the last head on; all values if there is no head
  bool has_head;  // whether a run begins in the node
  int64_t heads;  // runs that begin before the node
};

/// Joins two neighbours. `right` has heads = left.heads + the heads in `left`. Calls finish(run, sum) if the last run
/// of `left` ends with the lead of `right`.
template <typename Op, typename Finish>
CORANK_HOST_DEVICE RunNode<typename Op::Sum> JoinRuns(const Op& op, const RunNode<typename Op::Sum>& left,
                                                      const RunNode<typename Op::Sum>& right, Finish&& finish) {
  const typename Op::Sum cross = op.Add(left.tail, right.lead);
  RunNode<typename Op::Sum> joined;
  if (left.has_head && right.has_head) finish(right.heads - 1, cross);
  joined.lead = left.has_head ? left.lead : cross;
  joined.tail = right.has_head ? right.tail : cross;
  joined.has_head = left.has_head || right.has_head;
  joined.heads = left.heads;
  return joined;
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_RUN_REDUCTION_H_
