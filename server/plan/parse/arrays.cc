#include "server/plan/parse/arrays.h"

#include <algorithm>

#include "kernels/common/column_sort.h"
#include "kernels/common/types.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// Upper bound of a response without its results: types, counts, statistics.
constexpr int64_t kResponseOverheadBytes = 512;

// Most bytes of one array or result: more than any memory holds, and so little that the sizes that a request claims for
// all its arrays sum up within 63 bits.
constexpr int64_t kMostArrayBytes = int64_t{1} << 50;

bool IsTooLarge(int64_t count, int64_t element_bytes) { return count > kMostArrayBytes / element_bytes; }

absl::Status TooLarge(int64_t count, int64_t element_bytes, absl::string_view field) {
  return TooLargeField(field,
                       absl::StrCat(count, " elements of ", element_bytes, " bytes are more than any place has"));
}

std::string TypeName(v1::ElementType type) {
  return type == v1::ELEMENT_TYPE_RECORD ? "record" : KeyTypeName(static_cast<KeyType>(type));
}

absl::Status CheckType(const v1::Array& array, Field field, ArrayUse use) {
  if (array.type() == v1::ELEMENT_TYPE_UNSPECIFIED)
    return InvalidField(field.Sub("type"), "required, even for an empty array");
  if (!v1::ElementType_IsValid(array.type())) {
    return InvalidField(field.Sub("type"), absl::StrCat("not a known element type: ", array.type()));
  }
  if (use == ArrayUse::kKeys && array.type() == v1::ELEMENT_TYPE_RECORD) {
    return InvalidField(field.Sub("type"), "records have no order; keys are int8 to float64");
  }
  if (use == ArrayUse::kInt64 && array.type() != v1::ELEMENT_TYPE_INT64) {
    return InvalidField(field.Sub("type"),
                        absl::StrCat("counts and offsets must be int64, not ", TypeName(array.type())));
  }
  if (array.type() == v1::ELEMENT_TYPE_RECORD) {
    if (array.record_bytes() < 1 || array.record_bytes() > static_cast<uint32_t>(kMaxRecordBytes)) {
      return InvalidField(field.Sub("record_bytes"),
                          absl::StrCat("must be 1 to ", kMaxRecordBytes, " bytes, not ", array.record_bytes()));
    }
  } else if (array.record_bytes() != 0) {
    return InvalidField(field.Sub("record_bytes"), "allowed only with ELEMENT_TYPE_RECORD");
  }
  return absl::OkStatus();
}

}  // namespace

int32_t ElementBytes(const v1::Array& array) {
  if (array.type() == v1::ELEMENT_TYPE_RECORD)
    return static_cast<int32_t>(std::min(array.record_bytes(), uint32_t{kMaxRecordBytes}));
  const bool is_key = v1::ElementType_IsValid(array.type()) && array.type() != v1::ELEMENT_TYPE_UNSPECIFIED;
  return is_key ? KeyBytes(static_cast<KeyType>(array.type())) : 0;  // keys have the contract's numbers
}

absl::StatusOr<Operand> CheckElements(bool present, const v1::Array& array, Field field, ArrayUse use) {
  if (!present) return InvalidField(field.Path(), "required");
  CORANK_RETURN_IF_ERROR(CheckType(array, field, use));
  Operand operand;
  operand.type = array.type();
  operand.element_bytes = ElementBytes(array);
  return operand;
}

absl::Status CheckSize(const Operand& array, Field field) {
  return IsTooLarge(array.count, array.element_bytes) ? TooLarge(array.count, array.element_bytes, field.Sub("count"))
                                                      : absl::OkStatus();
}

absl::StatusOr<Operand> CheckArray(bool present, const v1::Array& array, Field field, ArrayUse use, Places& places) {
  CORANK_ASSIGN_OR_RETURN(Operand operand, CheckElements(present, array, field, use));
  if (array.place_case() != v1::Array::PLACE_NOT_SET) {
    CORANK_RETURN_IF_ERROR(places.Find(array, field, use, &operand));
    CORANK_RETURN_IF_ERROR(CheckSize(operand, field));
  } else if (array.count() != 0) {
    return InvalidField(field.Sub("count"), absl::StrCat(array.count(), " elements, but no bytes are given"));
  }
  return operand;
}

absl::Status CheckSameCount(const Operand& array, Field field, const Operand& like, Field like_field) {
  if (!array.has_count || !like.has_count || array.count == like.count) return absl::OkStatus();
  return InvalidField(field.Sub("count"),
                      absl::StrCat(array.count, " elements, but ", like_field.Path(), " has ", like.count));
}

absl::Status CheckValidity(const Operand& validity, Field field, std::optional<int64_t> rows) {
  if (validity.type != v1::ELEMENT_TYPE_UINT8) {
    return InvalidField(field.Sub("type"), "must be uint8: a bitmap, one byte for each 8 rows");
  }
  if (!validity.has_count || !rows || validity.count == ValidityBytes(*rows)) return absl::OkStatus();
  return InvalidField(field.Sub("count"), absl::StrCat(validity.count, " bytes, but a bitmap of ", *rows, " rows has ",
                                                       ValidityBytes(*rows)));
}

absl::StatusOr<std::optional<Operand>> CheckSegments(bool present, const v1::Array& array, std::optional<int64_t> count,
                                                     absl::string_view elements, Places& places) {
  if (!present) return std::nullopt;
  constexpr Field kOffsets{"segment_offsets"};
  CORANK_ASSIGN_OR_RETURN(Operand offsets, CheckArray(true, array, kOffsets, ArrayUse::kInt64, places));
  if (!offsets.is_pending) {
    CORANK_RETURN_IF_ERROR(CheckRisingOffsets(Int64View(offsets), kOffsets.name, count, "segments", elements));
  }
  return offsets;
}

absl::Status CheckSameType(const Operand& array, Field field, const Operand& like, Field like_field) {
  if (array.type != like.type) {
    return InvalidField(field.Sub("type"),
                        absl::StrCat(TypeName(array.type), ", but ", like_field.Path(), " is ", TypeName(like.type)));
  }
  if (array.element_bytes != like.element_bytes) {
    return InvalidField(field.Sub("record_bytes"), absl::StrCat(array.element_bytes, ", but ", like_field.Path(),
                                                                " has records of ", like.element_bytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckResultBytes(int64_t count, int64_t element_bytes, const Limits& limits, Field field) {
  const int64_t limit = limits.max_response_bytes - kResponseOverheadBytes;
  if (count <= limit / element_bytes) return absl::OkStatus();
  return FieldError(v1::ERROR_REASON_RESULT_TOO_LARGE, field.Path(),
                    absl::StrCat("the result has ", count, " elements of ", element_bytes,
                                 " bytes, more than a response may hold (max_response_bytes is ",
                                 limits.max_response_bytes, "); stream larger results with CorankService.Execute"));
}

absl::StatusOr<std::shared_ptr<ResultTarget>> PlaceResult(const v1::Destination& destination, Field field,
                                                          int64_t count, int64_t element_bytes, Places& places) {
  if (element_bytes == 0) {
    if (IsInline(destination)) return nullptr;
    return InvalidField(field.Path(), "this request has no such result");
  }
  if (IsTooLarge(count, element_bytes)) return TooLarge(count, element_bytes, field.Path());
  return places.Target(destination, field, count * element_bytes, static_cast<int32_t>(element_bytes));
}

absl::Status PlaceResults(std::initializer_list<WantedResult> results, int64_t count, const Limits& limits,
                          Places& places, Field made_by) {
  int64_t inline_bytes = 0;  // of one element of each result
  for (const WantedResult& result : results) {
    if (IsInline(*result.destination)) inline_bytes += result.element_bytes;
  }
  if (inline_bytes > 0) CORANK_RETURN_IF_ERROR(CheckResultBytes(count, inline_bytes, limits, made_by));
  for (const WantedResult& result : results) {
    CORANK_ASSIGN_OR_RETURN(*result.target,
                            PlaceResult(*result.destination, result.field, count, result.element_bytes, places));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SumCounts(const Operand& counts, Field field) {
  const Int64View view(counts);
  int64_t sum = 0;
  for (int64_t i = 0; i < view.size(); ++i) {
    if (view[i] < 0) return InvalidField(field.Element(i), absl::StrCat("a count must be 0 or more, not ", view[i]));
    if (__builtin_add_overflow(sum, view[i], &sum)) {
      return InvalidField(field.Element(i), "the sum of the counts up to here does not fit in 64 bits");
    }
  }
  return sum;
}

absl::Status CheckIntervals(const Operand& offsets, Field field, const Operand& counts, std::optional<int64_t> size,
                            absl::string_view of) {
  const Int64View starts(offsets);
  const Int64View lengths(counts);
  if (counts.is_pending || !size) return absl::OkStatus();
  for (int64_t i = 0; i < starts.size(); ++i) {
    if (starts[i] < 0 || lengths[i] > *size || starts[i] > *size - lengths[i]) {
      return InvalidField(field.Element(i), absl::StrCat("interval ", i, " (offset ", starts[i], ", count ", lengths[i],
                                                         ") does not lie inside the ", of, " of ", *size, " elements"));
    }
  }
  return absl::OkStatus();
}

}  // namespace corank
