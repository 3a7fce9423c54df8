// Checks that all operators share: arrays, destinations, sums and sizes.
#ifndef CORANK_SERVER_PLAN_PARSE_ARRAYS_H_
#define CORANK_SERVER_PLAN_PARSE_ARRAYS_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "server/model/offsets.h"
#include "server/model/operand.h"
#include "server/plan/parse/field.h"
#include "server/plan/parse/places.h"
#include "server/plan/parse/validate.h"

namespace corank {

/// Bytes of an element; 0: unknown type.
int32_t ElementBytes(const v1::Array& array);

/// Checks one array by itself, without its place: presence, type and record size. The caller sets the count, which
/// CheckSize then checks.
absl::StatusOr<Operand> CheckElements(bool present, const v1::Array& array, Field field, ArrayUse use);
absl::Status CheckSize(const Operand& array, Field field);

/// The same with its place, count and bytes.
absl::StatusOr<Operand> CheckArray(bool present, const v1::Array& array, Field field, ArrayUse use, Places& places);

/// Checks that `array` has as many elements as `like`. Passes while either count is unknown.
absl::Status CheckSameCount(const Operand& array, Field field, const Operand& like, Field like_field);

/// Checks that `validity` is a bitmap of so many rows. Passes while either number is unknown.
absl::Status CheckValidity(const Operand& validity, Field field, std::optional<int64_t> rows);

/// The offsets of the segments, if present. `count`: the number of keys or rows, called `elements`, if it is known.
absl::StatusOr<std::optional<Operand>> CheckSegments(bool present, const v1::Array& array, std::optional<int64_t> count,
                                                     absl::string_view elements, Places& places);

/// Checks that `array` has the type, and for records the size, of `like`.
absl::Status CheckSameType(const Operand& array, Field field, const Operand& like, Field like_field);

/// Checks that `count` elements of `element_bytes` bytes each fit into a response. `field`: determines the count.
absl::Status CheckResultBytes(int64_t count, int64_t element_bytes, const Limits& limits, Field field);

/// The size of an element; 0 if there is no array.
inline int64_t BytesOf(const std::optional<Operand>& operand) { return operand ? operand->element_bytes : 0; }

/// A result, and the place that the caller chose for it.
struct WantedResult {
  const v1::Destination* destination;
  Field field;                            // of the destination
  int64_t element_bytes;                  // 0: the request has no such result
  std::shared_ptr<ResultTarget>* target;  // output
};

/// Finds the targets of a request's results, of `count` elements each, and checks that the inline ones fit into the
/// response together. `made_by`: the field that determines the count.
absl::Status PlaceResults(std::initializer_list<WantedResult> results, int64_t count, const Limits& limits,
                          Places& places, Field made_by);

/// The same for one result. The caller of this function checks its bytes in the response.
absl::StatusOr<std::shared_ptr<ResultTarget>> PlaceResult(const v1::Destination& destination, Field field,
                                                          int64_t count, int64_t element_bytes, Places& places);

inline bool IsInline(const v1::Destination& destination) {
  return destination.place_case() == v1::Destination::kInlineResponse ||
         destination.place_case() == v1::Destination::PLACE_NOT_SET;
}

/// The sum of counts. Checks that each is 0 or more.
absl::StatusOr<int64_t> SumCounts(const Operand& counts, Field field);

/// The number of elements, if it is already known.
inline std::optional<int64_t> KnownCount(const Operand& operand) {
  return operand.has_count ? std::optional(operand.count) : std::nullopt;
}

/// Checks that interval [offsets[i], offsets[i] + counts[i]) lies inside [0, size) for each i. The counts are 0 or
/// more. `of` names the array that contains the intervals. Passes while its size is unknown.
absl::Status CheckIntervals(const Operand& offsets, Field field, const Operand& counts, std::optional<int64_t> size,
                            absl::string_view of);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_ARRAYS_H_
