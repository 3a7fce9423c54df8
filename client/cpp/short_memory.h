// Turns a lack of memory into a status where nobody catches exceptions.
#ifndef CORANK_CLIENT_CPP_SHORT_MEMORY_H_
#define CORANK_CLIENT_CPP_SHORT_MEMORY_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::client {

/// Does the work. RESOURCE_EXHAUSTED, "not enough memory here for <what>", if there is too little memory. For gRPC's
/// threads: gRPC drops their exceptions, and the call would never end.
absl::Status WithinMemory(absl::string_view what, absl::FunctionRef<void()> work);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_SHORT_MEMORY_H_
