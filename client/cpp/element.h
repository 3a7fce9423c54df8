// What arrays are made of, on the caller's side: element types, borrowed and owned arrays.
//
// Shapes: every array is one-dimensional, dense and little-endian. Units: counts are in elements unless the name says
// bytes. Ownership: ArrayView borrows, Array owns. Threading: plain values.
#ifndef CORANK_CLIENT_CPP_ELEMENT_H_
#define CORANK_CLIENT_CPP_ELEMENT_H_

#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/common/types.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays go to the wire as they lie in memory");

namespace corank::client {

/// IEEE 754 binary16, as storage: corank sorts it, C++17 has no arithmetic for it.
struct Float16 {
  uint16_t bits = 0;
  float ToFloat() const;
};

/// The upper half of an IEEE 754 binary32, as storage.
struct Bfloat16 {
  uint16_t bits = 0;
  float ToFloat() const;
};

inline bool operator==(Float16 a, Float16 b) { return a.bits == b.bits; }
inline bool operator==(Bfloat16 a, Bfloat16 b) { return a.bits == b.bits; }

/// What one element is: one of the 12 key types, or an opaque record of 1 to 256 bytes.
class ElementType {
 public:
  constexpr ElementType(KeyType key_type) : key_type_(key_type) {}  // NOLINT: every key type is an element type
  static constexpr ElementType Record(int bytes) { return ElementType(bytes, 0); }

  constexpr bool is_record() const { return record_bytes_ != 0; }
  /// Only where !is_record().
  constexpr KeyType key_type() const { return key_type_; }
  constexpr int bytes() const { return is_record() ? record_bytes_ : KeyBytes(key_type_); }
  /// "uint32", "bfloat16", "record of 12 bytes".
  std::string Name() const;

  friend constexpr bool operator==(ElementType a, ElementType b) {
    return a.record_bytes_ == b.record_bytes_ && (a.is_record() || a.key_type_ == b.key_type_);
  }
  friend constexpr bool operator!=(ElementType a, ElementType b) { return !(a == b); }

 private:
  constexpr ElementType(int record_bytes, int) : record_bytes_(record_bytes) {}

  KeyType key_type_ = KeyType::kUint8;
  int record_bytes_ = 0;
};

/// An array that somebody else owns and keeps unchanged for as long as the view is used: bytes in this process or,
/// where `stored` is set, elements that the server keeps (Client::Store).
struct ArrayView {
  ElementType type = KeyType::kUint8;
  absl::string_view bytes;    // a whole number of elements; no alignment is needed
  std::string stored = {};    // the name of a kept array; `bytes` is then empty
  int64_t stored_count = 0;   // its number of elements
  bool temporary = false;     // it is one that an earlier operator of the same chain made (chain.h)
  bool is_elsewhere = false;  // it is of an Array that is `placed`: no call takes it

  int64_t count() const { return stored.empty() ? static_cast<int64_t>(bytes.size()) / type.bytes() : stored_count; }
};

/// A result. It owns its bytes, unless the request named an Output for it.
struct Array {
  ElementType type = KeyType::kUint8;
  std::string bytes;                   // a whole number of elements
  std::optional<int64_t> placed = {};  // set: so many elements are where the Output says, and `bytes` is empty

  int64_t count() const { return placed.value_or(static_cast<int64_t>(bytes.size()) / type.bytes()); }
  /// Of the bytes here. No call takes that of an array that is placed.
  ArrayView view() const { return {type, bytes, "", 0, false, placed.has_value()}; }
};

namespace internal {

/// Whether T is one of the 12 key types, and which.
template <typename T>
struct KeyTraits {
  static constexpr bool kIsKey = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= sizeof(int64_t);
  static constexpr KeyType Type() {
    constexpr int kSigned = std::is_signed_v<T> ? 1 : 5;  // kInt8, kUint8
    return static_cast<KeyType>(kSigned + (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3));
  }
};
template <KeyType kType>
struct FixedKeyTraits {
  static constexpr bool kIsKey = true;
  static constexpr KeyType Type() { return kType; }
};
template <>
struct KeyTraits<Float16> : FixedKeyTraits<KeyType::kFloat16> {};
template <>
struct KeyTraits<Bfloat16> : FixedKeyTraits<KeyType::kBfloat16> {};
template <>
struct KeyTraits<float> : FixedKeyTraits<KeyType::kFloat32> {};
template <>
struct KeyTraits<double> : FixedKeyTraits<KeyType::kFloat64> {};

/// The element type of a contiguous range (std::vector, absl::Span, std::array, C array).
template <typename Range>
using ElementOf = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Range&>()))>>;

/// The same, for ranges of keys only.
template <typename Range, typename T = ElementOf<Range>>
using KeyOf = std::enable_if_t<KeyTraits<T>::kIsKey, T>;

}  // namespace internal

namespace internal {
/// INTERNAL: the server answered with another type than the contract says.
absl::Status OtherType(ElementType answered, ElementType expected);
/// FAILED_PRECONDITION if the array is placed.
absl::Status CheckHere(const Array& array);
}  // namespace internal

/// The element type of T: a key type, or for any other trivially copyable T of at most 256 bytes a record.
template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (internal::KeyTraits<T>::kIsKey) {
    return internal::KeyTraits<T>::Type();
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "records travel as bytes");
    static_assert(sizeof(T) <= kMaxRecordBytes, "records have at most 256 bytes");
    return ElementType::Record(sizeof(T));
  }
}

/// A view of a contiguous range; the range must outlive it.
template <typename Range, typename T = internal::ElementOf<Range>>
ArrayView ViewOf(const Range& range) {
  return {ElementTypeOf<T>(),
          absl::string_view(reinterpret_cast<const char*>(std::data(range)), std::size(range) * sizeof(T))};
}

/// A copy of the array as a vector. INTERNAL if it holds another type: the server broke the contract.
/// FAILED_PRECONDITION if it is placed: its elements are not here.
template <typename T>
absl::StatusOr<std::vector<T>> ToVector(const Array& array) {
  if (const absl::Status here = internal::CheckHere(array); !here.ok()) return here;
  if (array.type != ElementTypeOf<T>()) return internal::OtherType(array.type, ElementTypeOf<T>());
  std::vector<T> elements(array.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), array.bytes.data(), array.bytes.size());
  return elements;
}

/// The indices in a UINT32 or UINT64 array. INTERNAL if it holds another type, FAILED_PRECONDITION if it is placed.
absl::StatusOr<std::vector<int64_t>> ToIndices(const Array& array);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_ELEMENT_H_
