// Early return of an error, as in Abseil's own (unreleased) macros.
#ifndef CORANK_SERVER_BASE_STATUS_MACROS_H_
#define CORANK_SERVER_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define CORANK_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (absl::Status corank_status = (expression); !corank_status.ok()) { \
      return corank_status;                                               \
    }                                                                     \
  } while (false)

#define CORANK_CONCAT_INNER(a, b) a##b
#define CORANK_CONCAT(a, b) CORANK_CONCAT_INNER(a, b)

/// `target` may be a declaration.
#define CORANK_ASSIGN_OR_RETURN(target, expression)                                                   \
  auto CORANK_CONCAT(corank_or_, __LINE__) = (expression);                                            \
  if (!CORANK_CONCAT(corank_or_, __LINE__).ok()) return CORANK_CONCAT(corank_or_, __LINE__).status(); \
  target = *std::move(CORANK_CONCAT(corank_or_, __LINE__))

#endif  // CORANK_SERVER_BASE_STATUS_MACROS_H_
