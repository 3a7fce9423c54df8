// The caller of a call, and its permissions.
#ifndef CORANK_SERVER_SECURITY_CALLER_H_
#define CORANK_SERVER_SECURITY_CALLER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "server/model/operator.h"

namespace corank {

/// The tenant owns everything that outlives its calls: regions, stored arrays, shares of the queue.
struct Caller {
  std::string tenant;  // empty: an anonymous caller
  bool may_use_shared_memory = true;
  bool may_use_cuda_ipc = true;
  bool may_keep_arrays = true;
  uint32_t operators = ~uint32_t{0};  // bit i: the Operator of value i

  bool MayUse(Operator op) const { return (operators >> static_cast<int>(op) & 1) != 0; }
};

/// An anonymous caller, with all permissions that the server's flags allow. Never null.
inline const std::shared_ptr<const Caller>& AnonymousCaller() {
  static const auto* const caller = new std::shared_ptr<const Caller>(std::make_shared<const Caller>());
  return *caller;
}

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_CALLER_H_
