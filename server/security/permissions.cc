#include "server/security/permissions.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/base/errors.h"

namespace corank {
namespace {

std::string PermissionOf(Operator op) { return absl::StrReplaceAll(OperatorName(op), {{"_", "-"}}); }

absl::Status Check(bool granted, const Caller& caller, absl::string_view permission) {
  if (granted) return absl::OkStatus();
  return Error(
      v1::ERROR_REASON_NOT_PERMITTED,
      absl::StrCat("the tenant '", caller.tenant, "' does not have the permission '", permission, "' on this server"),
      {{"permission", std::string(permission)}});
}

}  // namespace

bool Grant(absl::string_view word, Caller* caller) {
  const bool all = word == "all";
  bool known = all;
  if (all || word == "operators") {
    caller->operators = ~uint32_t{0};
    known = true;
  }
  for (int i = 0; i < kOperatorCount; ++i) {
    if (word != PermissionOf(static_cast<Operator>(i))) continue;
    caller->operators |= uint32_t{1} << i;
    known = true;
  }
  const auto grant = [&](absl::string_view name, bool* flag) {
    if (!all && word != name) return;
    *flag = true;
    known = true;
  };
  grant(kSharedMemoryPermission, &caller->may_use_shared_memory);
  grant(kCudaIpcPermission, &caller->may_use_cuda_ipc);
  grant(kStoredArraysPermission, &caller->may_keep_arrays);
  return known;
}

absl::Status CheckOperator(const Caller& caller, Operator op) {
  if (caller.MayUse(op)) return absl::OkStatus();
  return Check(false, caller, PermissionOf(op));
}

absl::Status CheckSharedMemory(const Caller& caller) {
  return Check(caller.may_use_shared_memory, caller, kSharedMemoryPermission);
}

absl::Status CheckCudaIpc(const Caller& caller) { return Check(caller.may_use_cuda_ipc, caller, kCudaIpcPermission); }

absl::Status CheckStoredArrays(const Caller& caller) {
  return Check(caller.may_keep_arrays, caller, kStoredArraysPermission);
}

}  // namespace corank
