#include "corank/element.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace corank::client {
namespace {

template <typename Index>
std::vector<int64_t> Widen(const Array& array) {
  std::vector<int64_t> indices(array.count());
  for (size_t i = 0; i < indices.size(); ++i) {
    Index index;
    std::memcpy(&index, array.bytes.data() + i * sizeof(index), sizeof(index));
    indices[i] = static_cast<int64_t>(index);
  }
  return indices;
}

}  // namespace

float Float16::ToFloat() const {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  float magnitude;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float Bfloat16::ToFloat() const {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

std::string ElementType::Name() const {
  if (!is_record()) return KeyTypeName(key_type_);
  return absl::StrCat("record of ", record_bytes_, record_bytes_ == 1 ? " byte" : " bytes");
}

absl::Status internal::OtherType(ElementType answered, ElementType expected) {
  return absl::InternalError(
      absl::StrCat("the server answered with elements of type ", answered.Name(), ", not ", expected.Name()));
}

absl::Status internal::CheckHere(const Array& array) {
  if (!array.placed.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the ", *array.placed, " elements of this array went to its Output; read them there"));
}

absl::StatusOr<std::vector<int64_t>> ToIndices(const Array& array) {
  if (const absl::Status here = internal::CheckHere(array); !here.ok()) return here;
  if (array.type == KeyType::kUint32) return Widen<uint32_t>(array);
  if (array.type == KeyType::kUint64) return Widen<uint64_t>(array);
  return absl::InternalError(
      absl::StrCat("the server answered with indices of type ", array.type.Name(), ", not uint32 or uint64"));
}

}  // namespace corank::client
