// Memory that is short where nobody catches exceptions.
#ifndef CORANK_CLIENT_CPP_SHORT_MEMORY_H_
#define CORANK_CLIENT_CPP_SHORT_MEMORY_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::client {

/// Does the work. RESOURCE_EXHAUSTED, "not enough memory here for <what>", if there is too little memory for it. For
/// gRPC's threads: gRPC drops what they throw, and the call that they served would never end.
absl::Status WithinMemory(absl::string_view what, absl::FunctionRef<void()> work);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_SHORT_MEMORY_H_
