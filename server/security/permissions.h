// Permissions of callers, by the names that the tokens file and errors use.
#ifndef CORANK_SERVER_SECURITY_PERMISSIONS_H_
#define CORANK_SERVER_SECURITY_PERMISSIONS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/model/operator.h"
#include "server/security/caller.h"

namespace corank {

inline constexpr absl::string_view kSharedMemoryPermission = "shared-memory";
inline constexpr absl::string_view kCudaIpcPermission = "cuda-ipc";
inline constexpr absl::string_view kStoredArraysPermission = "stored-arrays";

/// Grants the permission that one word of a list names: "all", "operators", a permission above, or an operator such as
/// "sort" or "move-intervals". False if the word is unknown.
bool Grant(absl::string_view word, Caller* caller);

/// PERMISSION_DENIED with the name of the missing permission; else OK.
absl::Status CheckOperator(const Caller& caller, Operator op);
absl::Status CheckSharedMemory(const Caller& caller);
absl::Status CheckCudaIpc(const Caller& caller);
absl::Status CheckStoredArrays(const Caller& caller);

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_PERMISSIONS_H_
