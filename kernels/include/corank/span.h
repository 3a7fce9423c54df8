// Views of arrays.
#ifndef CORANK_SPAN_H_
#define CORANK_SPAN_H_

#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace corank {

/// An array that somebody else owns: a pointer and a count. The elements may lie in device memory; the span itself
/// never reads them. A value type, also of kernels.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  /// `data` may be null if `size` is 0.
  constexpr Span(T* data, int64_t size) : data_(data), size_(size) {}
  /// A view of anything with data() and size(): std::vector, std::array, another Span, the spans of other libraries.
  template <typename Range, typename = std::enable_if_t<std::is_convertible_v<
                                std::remove_pointer_t<decltype(std::data(std::declval<Range&>()))> (*)[], T (*)[]>>>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): every range is a span
  constexpr Span(Range&& range) : data_(std::data(range)), size_(static_cast<int64_t>(std::size(range))) {}

  constexpr T* data() const { return data_; }
  /// In elements.
  constexpr int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](int64_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

namespace internal {

/// T, in a parameter whose argument may be converted: the type is deduced from other arguments.
template <typename T>
struct Same {
  using Type = T;
};
template <typename T>
using NotDeduced = typename Same<T>::Type;

}  // namespace internal
}  // namespace corank

#endif  // CORANK_SPAN_H_
