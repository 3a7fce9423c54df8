#include "server/kserve/tensors.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace corank {
namespace {

using inference::InferTensorContents;

constexpr std::array<Datatype, 12> kDatatypes = {{
    {v1::ELEMENT_TYPE_INT8, "INT8", "int8", inference::TYPE_INT8, 1},
    {v1::ELEMENT_TYPE_INT16, "INT16", "int16", inference::TYPE_INT16, 2},
    {v1::ELEMENT_TYPE_INT32, "INT32", "int32", inference::TYPE_INT32, 4},
    {v1::ELEMENT_TYPE_INT64, "INT64", "int64", inference::TYPE_INT64, 8},
    {v1::ELEMENT_TYPE_UINT8, "UINT8", "uint8", inference::TYPE_UINT8, 1},
    {v1::ELEMENT_TYPE_UINT16, "UINT16", "uint16", inference::TYPE_UINT16, 2},
    {v1::ELEMENT_TYPE_UINT32, "UINT32", "uint32", inference::TYPE_UINT32, 4},
    {v1::ELEMENT_TYPE_UINT64, "UINT64", "uint64", inference::TYPE_UINT64, 8},
    {v1::ELEMENT_TYPE_FLOAT16, "FP16", "fp16", inference::TYPE_FP16, 2},
    {v1::ELEMENT_TYPE_BFLOAT16, "BF16", "bf16", inference::TYPE_BF16, 2},
    {v1::ELEMENT_TYPE_FLOAT32, "FP32", "fp32", inference::TYPE_FP32, 4},
    {v1::ELEMENT_TYPE_FLOAT64, "FP64", "fp64", inference::TYPE_FP64, 8},
}};

// Elements in all lists together.
int CountAll(const InferTensorContents& contents) {
  return contents.bool_contents_size() + contents.int_contents_size() + contents.int64_contents_size() +
         contents.uint_contents_size() + contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

template <typename Element, typename List>
absl::StatusOr<std::string> Pack(const List& list, const InferTensorContents& contents, const Datatype& type,
                                 absl::string_view list_name, absl::string_view field) {
  if (list.size() != CountAll(contents)) {
    return InvalidField(field,
                        absl::StrCat("elements of ", type.name, " belong into ", list_name, " and nowhere else"));
  }
  std::string bytes(static_cast<size_t>(list.size()) * sizeof(Element), '\0');
  char* to = bytes.data();
  for (const auto value : list) {
    if constexpr (std::is_integral_v<Element>) {
      if (value < std::numeric_limits<Element>::min() || value > std::numeric_limits<Element>::max()) {
        return InvalidField(field, absl::StrCat(value, " does not fit in ", type.name));
      }
    }
    const auto element = static_cast<Element>(value);
    std::memcpy(to, &element, sizeof(element));
    to += sizeof(element);
  }
  return bytes;
}

}  // namespace

absl::Span<const Datatype> Datatypes() { return kDatatypes; }

const Datatype& DatatypeOf(v1::ElementType type) {
  return kDatatypes[static_cast<size_t>(type - v1::ELEMENT_TYPE_INT8)];
}

const Datatype* FindDatatype(absl::string_view name) {
  for (const Datatype& type : kDatatypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

absl::StatusOr<std::string> PackContents(const InferTensorContents& contents, const Datatype& type,
                                         absl::string_view field) {
  switch (type.type) {
    case v1::ELEMENT_TYPE_INT8:
      return Pack<int8_t>(contents.int_contents(), contents, type, "int_contents", field);
    case v1::ELEMENT_TYPE_INT16:
      return Pack<int16_t>(contents.int_contents(), contents, type, "int_contents", field);
    case v1::ELEMENT_TYPE_INT32:
      return Pack<int32_t>(contents.int_contents(), contents, type, "int_contents", field);
    case v1::ELEMENT_TYPE_INT64:
      return Pack<int64_t>(contents.int64_contents(), contents, type, "int64_contents", field);
    case v1::ELEMENT_TYPE_UINT8:
      return Pack<uint8_t>(contents.uint_contents(), contents, type, "uint_contents", field);
    case v1::ELEMENT_TYPE_UINT16:
      return Pack<uint16_t>(contents.uint_contents(), contents, type, "uint_contents", field);
    case v1::ELEMENT_TYPE_UINT32:
      return Pack<uint32_t>(contents.uint_contents(), contents, type, "uint_contents", field);
    case v1::ELEMENT_TYPE_UINT64:
      return Pack<uint64_t>(contents.uint64_contents(), contents, type, "uint64_contents", field);
    case v1::ELEMENT_TYPE_FLOAT32:
      return Pack<float>(contents.fp32_contents(), contents, type, "fp32_contents", field);
    case v1::ELEMENT_TYPE_FLOAT64:
      return Pack<double>(contents.fp64_contents(), contents, type, "fp64_contents", field);
    default:
      return InvalidField(field, absl::StrCat("elements of ", type.name, " must be in raw_input_contents"));
  }
}

}  // namespace corank
