// A call whose arrays travel through shared memory that the client makes for it.
#ifndef CORANK_CLIENT_CPP_REGION_CALL_H_
#define CORANK_CLIENT_CPP_REGION_CALL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"
#include "client/cpp/regions.h"

namespace corank::client {

/// What an error of CallWithRegion is about.
enum class RegionTrouble : uint8_t {
  kNone,     // the call itself
  kRefused,  // the region: another place may do
  kLost,     // the connection broke. The region is given up, for the server may still write to it; another may do
};

/// Copies the inputs into a region and the results out of it. `repeat`: of the call, apart from this region. Fills
/// *result as CallWithMessage does, and on an error *trouble.
absl::StatusOr<CallCost> CallWithRegion(Connection* connection, Regions* regions, Job* job, const ServerInfo& info,
                                        absl::Time deadline, const CallOptions& call, Repeat repeat,
                                        v1::OperationResult* result, RegionTrouble* trouble);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_REGION_CALL_H_
