// Converts a request message to an operation, or to an error that names the field. Pure functions: no locks, no engine.
#ifndef CORANK_SERVER_PLAN_PARSE_VALIDATE_H_
#define CORANK_SERVER_PLAN_PARSE_VALIDATE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corank/v1/group.pb.h"
#include "corank/v1/join.pb.h"
#include "corank/v1/operators.pb.h"
#include "corank/v1/rank.pb.h"
#include "corank/v1/select.pb.h"
#include "corank/v1/sets.pb.h"
#include "server/model/operator.h"
#include "server/plan/parse/places.h"
#include "server/run/operation.h"
#include "server/run/task.h"

namespace corank {

struct Limits {
  /// Most bytes of a request message.
  int64_t max_request_bytes = int64_t{256} << 20;
  /// Most bytes of a response message.
  int64_t max_response_bytes = int64_t{256} << 20;
  /// Most bytes of an ArrayChunk, in either direction.
  int64_t max_chunk_bytes = int64_t{4} << 20;
};

/// INVALID_ARGUMENT, or an error of `places` (UNIMPLEMENTED, NOT_FOUND). Each names the field (base/errors.h). The
/// operation borrows the inline arrays of the request, which must outlive it.
#define CORANK_ROW(Name, name)                                                                                \
  absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::Name##Request& request, const Limits& limits, \
                                                      Places& places);
CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW

/// Whether an id is valid in metadata and logs: 1 to 128 printable ASCII characters.
bool IsValidRequestId(absl::string_view id);

/// Checks all options and returns the priority.
absl::StatusOr<TaskPriority> ValidateOptions(const v1::RequestOptions& options);

/// Checks that a message of this many bytes is allowed.
absl::Status ValidateMessageBytes(int64_t bytes, const Limits& limits);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_VALIDATE_H_
