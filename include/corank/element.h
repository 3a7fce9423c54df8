// Element types and arrays. ArrayView borrows its bytes, Array owns them. Both are plain values.
#ifndef CORANK_ELEMENT_H_
#define CORANK_ELEMENT_H_

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
#include "corank/internal/key_traits.h"
#include "corank/types.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays travel as they lie in memory, little-endian");

namespace corank::client {

/// IEEE 754 binary16. Storage only, because C++17 has no arithmetic for it.
struct Float16 {
  uint16_t bits = 0;
  float ToFloat() const;
};

/// The upper half of an IEEE 754 binary32. Storage only.
struct Bfloat16 {
  uint16_t bits = 0;
  float ToFloat() const;
};

inline bool operator==(Float16 a, Float16 b) { return a.bits == b.bits; }
inline bool operator==(Bfloat16 a, Bfloat16 b) { return a.bits == b.bits; }

}  // namespace corank::client

namespace corank {
namespace internal {
template <>
struct KeyTraits<client::Float16> : FixedKeyTraits<KeyType::kFloat16> {};
template <>
struct KeyTraits<client::Bfloat16> : FixedKeyTraits<KeyType::kBfloat16> {};
}  // namespace internal
}  // namespace corank

namespace corank::client {

/// The type of an element: one of the 12 key types, or an opaque record of 1 to 256 bytes.
class ElementType {
 public:
  constexpr ElementType(KeyType key_type) : key_type_(key_type) {}  // NOLINT: every key type is an element type
  /// A record of this many bytes.
  static constexpr ElementType Record(int bytes) { return ElementType(bytes, 0); }

  constexpr bool is_record() const { return record_bytes_ != 0; }
  /// Valid only where !is_record().
  constexpr KeyType key_type() const { return key_type_; }
  /// Bytes of one element.
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

/// An array that the caller owns, and keeps unchanged while a call uses the view: bytes in this process or, if `stored`
/// is set, an array on the server (Client::Store). ViewOf and StoredArray::view make views.
struct ArrayView {
  ElementType type = KeyType::kUint8;
  absl::string_view bytes;    // a whole number of elements; may be unaligned
  std::string stored = {};    // the name of a stored array; `bytes` is then empty
  int64_t stored_count = 0;   // the number of elements of the stored array
  bool temporary = false;     // an earlier operator of the same chain made the array (chain.h)
  bool is_elsewhere = false;  // the view of an Array that is `placed`; calls refuse it
  bool is_bound = false;      // `stored_count` is the most elements that a temporary array may have (chain.h)

  /// The number of elements.
  int64_t count() const { return stored.empty() ? static_cast<int64_t>(bytes.size()) / type.bytes() : stored_count; }
};

/// A result. Owns its bytes, unless the request named an Output.
struct Array {
  ElementType type = KeyType::kUint8;
  std::string bytes;                   // a whole number of elements
  std::optional<int64_t> placed = {};  // the number of elements that went to the Output; `bytes` is then empty

  /// The number of elements.
  int64_t count() const { return placed.value_or(static_cast<int64_t>(bytes.size()) / type.bytes()); }
  /// A view of the bytes; borrows. Calls refuse the view of an array that is `placed`.
  ArrayView view() const { return {type, bytes, "", 0, false, placed.has_value()}; }
};

namespace internal {

/// The element type of a contiguous range (std::vector, absl::Span, std::array, C array).
template <typename Range>
using ElementOf = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Range&>()))>>;

/// The same, for ranges of keys only.
template <typename Range, typename T = ElementOf<Range>>
using KeyOf = std::enable_if_t<corank::internal::KeyTraits<T>::kIsKey, T>;

/// INTERNAL: the server answered with another type than the contract says.
absl::Status OtherType(ElementType answered, ElementType expected);
/// FAILED_PRECONDITION if the array is placed.
absl::Status CheckHere(const Array& array);
}  // namespace internal

/// The element type of T: a key type, or a record for any other trivially copyable T of at most 256 bytes.
template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (corank::internal::KeyTraits<T>::kIsKey) {
    return corank::internal::KeyTraits<T>::Type();
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "records travel as bytes");
    static_assert(sizeof(T) <= kMaxRecordBytes, "records have at most 256 bytes");
    return ElementType::Record(sizeof(T));
  }
}

/// A view of a contiguous range. The range must outlive the view.
template <typename Range, typename T = internal::ElementOf<Range>>
ArrayView ViewOf(const Range& range) {
  return {ElementTypeOf<T>(),
          absl::string_view(reinterpret_cast<const char*>(std::data(range)), std::size(range) * sizeof(T))};
}

/// A copy of the array as a vector. INTERNAL if the array holds another type, FAILED_PRECONDITION if it is `placed`.
template <typename T>
absl::StatusOr<std::vector<T>> ToVector(const Array& array) {
  if (const absl::Status here = internal::CheckHere(array); !here.ok()) return here;
  if (array.type != ElementTypeOf<T>()) return internal::OtherType(array.type, ElementTypeOf<T>());
  std::vector<T> elements(array.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), array.bytes.data(), array.bytes.size());
  return elements;
}

/// The indices in a UINT32 or UINT64 array. INTERNAL if the array holds another type, FAILED_PRECONDITION if it is
/// `placed`.
absl::StatusOr<std::vector<int64_t>> ToIndices(const Array& array);

}  // namespace corank::client

#endif  // CORANK_ELEMENT_H_
