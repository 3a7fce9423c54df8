// Memory that receives results. Internal: no part of the public interface.
#ifndef CORANK_INTERNAL_RESULT_BUFFER_H_
#define CORANK_INTERNAL_RESULT_BUFFER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corank/element.h"
#include "corank/internal/populate.h"

namespace corank::client {
namespace internal {

/// container->resize(count) without keeping the contents: faster where the container needs new memory.
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

/// Receives one result. The library calls Allocate at most once an attempt, then Finish. Not thread-safe.
class ResultBuffer {
 public:
  virtual ~ResultBuffer() = default;
  /// Memory for the result, of about `bytes` bytes: the span says how many. Valid until Finish.
  virtual absl::Span<char> Allocate(int64_t bytes) = 0;
  /// The first `bytes` bytes hold the result, a whole number of elements of this type.
  virtual absl::Status Finish(ElementType type, int64_t bytes) = 0;
  /// The result went to the request's Output instead of this buffer.
  virtual absl::Status Place(ElementType type, int64_t count) = 0;
};

/// Receives into an Array.
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

/// Receives into a vector. The result must have its element type.
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

/// Receives into the caller's memory.
class MemoryBuffer final : public ResultBuffer {
 public:
  /// Reports to `*result` what arrived.
  MemoryBuffer(absl::Span<char> memory, ResultBuffer* result) : memory_(memory), result_(result) {}

  absl::Span<char> Allocate(int64_t) override { return memory_; }
  absl::Status Finish(ElementType type, int64_t bytes) override { return result_->Place(type, bytes / type.bytes()); }
  absl::Status Place(ElementType type, int64_t count) override { return result_->Place(type, count); }

 private:
  const absl::Span<char> memory_;
  ResultBuffer* const result_;
};

}  // namespace corank::client

#endif  // CORANK_INTERNAL_RESULT_BUFFER_H_
