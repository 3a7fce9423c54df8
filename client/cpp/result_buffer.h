// Memory that results are copied into, once, off the wire.
#ifndef CORANK_CLIENT_CPP_RESULT_BUFFER_H_
#define CORANK_CLIENT_CPP_RESULT_BUFFER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/cpp/element.h"
#include "client/cpp/populate.h"

namespace corank::client {
namespace internal {

/// container->resize(count) where what is in it does not matter: faster if that takes new memory.
template <typename Container>
void ResizeFast(Container* container, size_t count) {
  if (count > container->capacity()) {
    container->clear();
    container->reserve(count);
    Populate(container->data(), count * sizeof(typename Container::value_type));
  }
  container->resize(count);
}

}  // namespace internal

/// Takes one result. The library calls Allocate at most once an attempt, then Finish; not thread-safe.
class ResultBuffer {
 public:
  virtual ~ResultBuffer() = default;
  /// Memory for up to `bytes` bytes, more or fewer if that is how much there is. Stays valid until Finish.
  virtual absl::Span<char> Allocate(int64_t bytes) = 0;
  /// The first `bytes` bytes are the result, a whole number of elements of this type.
  virtual absl::Status Finish(ElementType type, int64_t bytes) = 0;
  /// The result is not in this buffer but where the request's Output says.
  virtual absl::Status Place(ElementType type, int64_t count) = 0;
};

/// Into an Array.
class ArrayBuffer final : public ResultBuffer {
 public:
  explicit ArrayBuffer(Array* array) : array_(array) {}

  absl::Span<char> Allocate(int64_t bytes) override {
    internal::ResizeFast(&array_->bytes, static_cast<size_t>(bytes));
    return absl::MakeSpan(array_->bytes.data(), array_->bytes.size());
  }
  absl::Status Finish(ElementType type, int64_t bytes) override {
    array_->type = type;
    array_->bytes.resize(static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Place(ElementType type, int64_t count) override {
    *array_ = {type, "", count};
    return absl::OkStatus();
  }

 private:
  Array* const array_;
};

/// Into a vector whose element type the result must have.
template <typename T>
class VectorBuffer final : public ResultBuffer {
 public:
  explicit VectorBuffer(std::vector<T>* elements) : elements_(elements) {}

  absl::Span<char> Allocate(int64_t bytes) override {
    internal::ResizeFast(elements_, (static_cast<size_t>(bytes) + sizeof(T) - 1) / sizeof(T));
    return absl::MakeSpan(reinterpret_cast<char*>(elements_->data()), elements_->size() * sizeof(T));
  }
  absl::Status Finish(ElementType type, int64_t bytes) override {
    if (type != ElementTypeOf<T>()) return internal::OtherType(type, ElementTypeOf<T>());
    elements_->resize(static_cast<size_t>(bytes) / sizeof(T));
    return absl::OkStatus();
  }
  absl::Status Place(ElementType type, int64_t) override {
    if (type != ElementTypeOf<T>()) return internal::OtherType(type, ElementTypeOf<T>());
    elements_->clear();
    return absl::OkStatus();
  }

 private:
  std::vector<T>* const elements_;
};

/// Into memory of the caller's.
class MemoryBuffer final : public ResultBuffer {
 public:
  /// Says in `*array` what came.
  MemoryBuffer(absl::Span<char> memory, ResultBuffer* result) : memory_(memory), result_(result) {}

  absl::Span<char> Allocate(int64_t) override { return memory_; }
  absl::Status Finish(ElementType type, int64_t bytes) override { return result_->Place(type, bytes / type.bytes()); }
  absl::Status Place(ElementType type, int64_t count) override { return result_->Place(type, count); }

 private:
  const absl::Span<char> memory_;
  ResultBuffer* const result_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RESULT_BUFFER_H_
