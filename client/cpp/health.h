// What the server says of its own health: grpc.health.v1, on the port of calls or on one for probes.
#ifndef CORANK_CLIENT_CPP_HEALTH_H_
#define CORANK_CLIENT_CPP_HEALTH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "corank/operators.h"

namespace corank::client {

/// As in client.h.
absl::StatusOr<Health> CheckHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call);
absl::StatusOr<Health> AwaitHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_HEALTH_H_
