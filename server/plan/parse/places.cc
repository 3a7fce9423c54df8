#include "server/plan/parse/places.h"

#include "absl/strings/str_cat.h"
#include "kernels/common/types.h"
#include "server/base/errors.h"

namespace corank {
absl::Status SetBytes(const v1::Array& array, Field field, absl::string_view bytes, Operand* operand) {
  const auto size_bytes = static_cast<int64_t>(bytes.size());
  if (size_bytes % operand->element_bytes != 0) {
    const std::string type =
        operand->type == v1::ELEMENT_TYPE_RECORD ? "record" : KeyTypeName(static_cast<KeyType>(operand->type));
    return InvalidField(field.Sub("inline_data"), absl::StrCat(size_bytes, " bytes are not a whole number of ", type,
                                                               " elements of ", operand->element_bytes, " bytes"));
  }
  operand->count = size_bytes / operand->element_bytes;
  operand->bytes = bytes.data();
  if (array.has_count() && array.count() != operand->count) {
    return InvalidField(field.Sub("count"), absl::StrCat("the count is ", array.count(), ", but the bytes hold ",
                                                         operand->count, " elements"));
  }
  return absl::OkStatus();
}

absl::Status PlaceUnavailable(const google::protobuf::Message& array_or_destination, Field field) {
  const google::protobuf::OneofDescriptor* const places =
      array_or_destination.GetDescriptor()->FindOneofByName("place");
  const std::string& place =
      array_or_destination.GetReflection()->GetOneofFieldDescriptor(array_or_destination, places)->name();
  if (place == "stream") {
    return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED, field.Sub(place),
                      "streams work only in CorankService.Execute");
  }
  return FieldError(v1::ERROR_REASON_PLACE_DISABLED, field.Sub(place),
                    absl::StrCat("the place ", place, " is switched off on this server; send the bytes inline"));
}

}  // namespace corank
