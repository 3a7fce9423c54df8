// A call whose arrays travel through shared memory that the client makes for it.
#ifndef CORANK_CLIENT_CPP_REGION_CALL_H_
#define CORANK_CLIENT_CPP_REGION_CALL_H_

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"
#include "client/cpp/regions.h"

namespace corank::client {

/// Copies the inputs into a region and the results out of it. On an error, *is_refused says whether the region is what
/// failed, so that another place may do. Fills *result as CallWithMessage does.
absl::StatusOr<CallCost> CallWithRegion(Connection* connection, Regions* regions, Job* job, const ServerInfo& info,
                                        absl::Time deadline, const CallOptions& call, v1::OperationResult* result,
                                        bool* is_refused);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_REGION_CALL_H_
