// grpc.reflection, v1 and v1alpha: describes the services of a port.
#ifndef CORANK_SERVER_RPC_REFLECTION_H_
#define CORANK_SERVER_RPC_REFLECTION_H_

#include <string>
#include <vector>

#include "server/rpc/methods.h"

namespace corank {

/// Adds the methods. `services`: the full names of those that are listed; reflection itself is listed too.
void AddReflection(std::vector<std::string> services, Methods* methods);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REFLECTION_H_
