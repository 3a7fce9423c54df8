// Health checks: grpc.health.v1, on the server's port for calls or its port for probes.
#ifndef CORANK_CLIENT_CPP_HEALTH_H_
#define CORANK_CLIENT_CPP_HEALTH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "corank/operators.h"

namespace corank::client {

/// Client's methods of these names.
absl::StatusOr<Health> CheckHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call);
absl::StatusOr<Health> AwaitHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_HEALTH_H_
