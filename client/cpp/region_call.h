// A call whose arrays travel through shared memory that the client makes.
#ifndef CORANK_CLIENT_CPP_REGION_CALL_H_
#define CORANK_CLIENT_CPP_REGION_CALL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"
#include "client/cpp/regions.h"

namespace corank::client {

/// The cause of an error of CallWithRegion.
enum class RegionTrouble : uint8_t {
  kNone,     // the call itself
  kRefused,  // the region; another place may work
  kLost,     // the lost connection; the region is given up, because the server may still write to it; another may work
};

/// Copies the inputs into a region and the results out of it. `repeat` says how the call may repeat if the region is
/// left out of account. Fills *result as CallWithMessage does, and *trouble on an error.
absl::StatusOr<CallCost> CallWithRegion(Connection* connection, Regions* regions, Job* job, const ServerInfo& info,
                                        absl::Time deadline, const CallOptions& call, Repeat repeat,
                                        v1::OperationResult* result, RegionTrouble* trouble);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_REGION_CALL_H_
