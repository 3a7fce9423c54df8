#include "server/plan/parse/places.h"

#include "absl/strings/str_cat.h"
#include "kernels/common/types.h"
#include "server/base/errors.h"

namespace corank {
namespace {

absl::Status Off(Field field, absl::string_view place) {
  return FieldError(v1::ERROR_REASON_PLACE_DISABLED, field.Sub(place),
                    absl::StrCat("the place ", place, " is switched off on this server; send the bytes inline"));
}

absl::Status NoStream(Field field) {
  return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED, field.Sub("stream"),
                    "streams work only in CorankService.Execute");
}

}  // namespace

absl::Status SetBytes(const v1::Array& array, Field field, absl::string_view place, const void* bytes,
                      int64_t size_bytes, Operand* operand) {
  if (size_bytes % operand->element_bytes != 0) {
    const std::string type =
        operand->type == v1::ELEMENT_TYPE_RECORD ? "record" : KeyTypeName(static_cast<KeyType>(operand->type));
    return InvalidField(field.Sub(place), absl::StrCat(size_bytes, " bytes are not a whole number of ", type,
                                                       " elements of ", operand->element_bytes, " bytes"));
  }
  operand->count = size_bytes / operand->element_bytes;
  operand->bytes = bytes;
  if (array.has_count() && array.count() != operand->count) {
    return InvalidField(field.Sub("count"), absl::StrCat("the count is ", array.count(), ", but the bytes hold ",
                                                         operand->count, " elements"));
  }
  return absl::OkStatus();
}

absl::Status InlinePlaces::Find(const v1::Array& array, Field field, ArrayUse, Operand* operand) {
  switch (array.place_case()) {
    case v1::Array::kInlineData:
      return SetBytes(array, field, "inline_data", array.inline_data().data(),
                      static_cast<int64_t>(array.inline_data().size()), operand);
    case v1::Array::kSharedMemory:
      return Off(field, "shared_memory");
    case v1::Array::kCudaIpc:
      return Off(field, "cuda_ipc");
    case v1::Array::kStored:
      return Off(field, "stored");
    case v1::Array::kStream:
      return NoStream(field);
    case v1::Array::PLACE_NOT_SET:
      break;
  }
  return absl::InternalError("an array without a place has no bytes");
}

absl::StatusOr<std::shared_ptr<ResultTarget>> InlinePlaces::Target(const v1::Destination& destination, Field field,
                                                                   int64_t, int32_t) {
  switch (destination.place_case()) {
    case v1::Destination::kInlineResponse:
    case v1::Destination::PLACE_NOT_SET:
      return nullptr;
    case v1::Destination::kSharedMemory:
      return Off(field, "shared_memory");
    case v1::Destination::kCudaIpc:
      return Off(field, "cuda_ipc");
    case v1::Destination::kStored:
      return Off(field, "stored");
    case v1::Destination::kStream:
      return NoStream(field);
  }
  return nullptr;
}

Places& InlineOnly() {
  static InlinePlaces places;
  return places;
}

}  // namespace corank
