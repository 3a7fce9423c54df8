// Converts arrays to messages and back.
#ifndef CORANK_TESTS_SERVER_MESSAGES_H_
#define CORANK_TESTS_SERVER_MESSAGES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "corank/v1/array.pb.h"

namespace corank::testing {

inline v1::Array MakeArray(v1::ElementType type, const void* bytes, size_t size) {
  v1::Array array;
  array.set_type(type);
  array.set_inline_data(bytes, size);
  return array;
}

inline v1::Array Int64s(const std::vector<int64_t>& values) {
  return MakeArray(v1::ELEMENT_TYPE_INT64, values.data(), values.size() * sizeof(int64_t));
}

inline v1::Array Int32s(const std::vector<int32_t>& values) {
  return MakeArray(v1::ELEMENT_TYPE_INT32, values.data(), values.size() * sizeof(int32_t));
}

inline v1::Array Records(uint32_t record_bytes, const std::string& bytes) {
  v1::Array array = MakeArray(v1::ELEMENT_TYPE_RECORD, bytes.data(), bytes.size());
  array.set_record_bytes(record_bytes);
  return array;
}

/// The elements of an inline array.
template <typename T>
std::vector<T> Elements(const v1::Array& array) {
  std::vector<T> elements(array.inline_data().size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), array.inline_data().data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_MESSAGES_H_
