// How validate finds the bytes of arrays and the targets of results, wherever they are.
#ifndef CORANK_SERVER_VALIDATE_PLACES_H_
#define CORANK_SERVER_VALIDATE_PLACES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/array.pb.h"
#include "server/execute/operand.h"
#include "server/respond/result_target.h"
#include "server/validate/field.h"

namespace corank {

/// What an array may hold.
enum class ArrayUse : uint8_t {
  kKeys,   // anything that has an order
  kMoved,  // anything, records included
  kInt64,  // counts and offsets: validate reads them, so their bytes must be in host memory that nobody changes
};

/// The places of one request. Never waits for work.
class Places {
 public:
  virtual ~Places() = default;

  /// Sets the count and the bytes of `operand`, whose type and element size are set, and what else says where they are.
  /// The array has a place. Errors name `field`: INVALID_ARGUMENT (bounds, a count that does not agree), NOT_FOUND,
  /// UNIMPLEMENTED (a place that is switched off).
  virtual absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const = 0;

  /// Where a result of at most `bytes` bytes, whose elements have `element_bytes` bytes, goes. Null: into the response,
  /// from a lane's memory. Errors as above.
  virtual absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field,
                                                               int64_t bytes, int32_t element_bytes) const = 0;
};

/// Sets the count and the bytes of an operand that lies in host memory: what every kind of place has to check.
absl::Status SetBytes(const v1::Array& array, Field field, absl::string_view place, const void* bytes,
                      int64_t size_bytes, Operand* operand);

/// Arrays in the message itself and results in the response; every other place is UNIMPLEMENTED.
class InlinePlaces : public Places {
 public:
  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) const override;
};

/// One for all: it has no state.
const Places& InlineOnly();

}  // namespace corank

#endif  // CORANK_SERVER_VALIDATE_PLACES_H_
