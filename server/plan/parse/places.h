// Finds the bytes of arrays and the targets of results in every kind of place.
#ifndef CORANK_SERVER_PLAN_PARSE_PLACES_H_
#define CORANK_SERVER_PLAN_PARSE_PLACES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"
#include "server/model/operand.h"
#include "server/model/result_target.h"
#include "server/plan/parse/field.h"

namespace corank {

/// The allowed contents of an array.
enum class ArrayUse : uint8_t {
  kKeys,   // any type with an order
  kMoved,  // any type, records included
  kInt64,  // counts and offsets: validate reads them, so they must be in unchanging host memory
};

/// The places of one request. They take server memory for it as they go.
class Places {
 public:
  virtual ~Places() = default;

  /// Sets the count, the bytes and the location of `operand`, whose type and element size are set. The array has a
  /// place. Errors name `field`: INVALID_ARGUMENT (bounds, a wrong count), NOT_FOUND, UNIMPLEMENTED (a place that is
  /// switched off). May wait, 5 s at most, for the copy of an array of kInt64 that lies on a device.
  virtual absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) = 0;

  /// The target of a result of at most `bytes` bytes with elements of `element_bytes` bytes. Null: into the response,
  /// from a lane's memory. Errors as above.
  virtual absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field,
                                                               int64_t bytes, int32_t element_bytes) = 0;
};

/// Sets the count and the bytes of an inline array. INVALID_ARGUMENT: not whole elements, or a wrong count.
absl::Status SetBytes(const v1::Array& array, Field field, absl::string_view bytes, Operand* operand);

/// Why an array or a destination, whose place is set, cannot be there: UNIMPLEMENTED if the place is switched off,
/// INVALID_ARGUMENT if it is a stream outside of Execute.
absl::Status PlaceUnavailable(const google::protobuf::Message& array_or_destination, Field field);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_PLACES_H_
