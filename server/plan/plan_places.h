// The regions and kept arrays that a plan names.
#ifndef CORANK_SERVER_PLAN_PLAN_PLACES_H_
#define CORANK_SERVER_PLAN_PLAN_PLACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "corank/v1/corank_service.pb.h"
#include "google/protobuf/message.h"
#include "server/plan/parse/field.h"
#include "server/plan/request_places.h"

namespace corank {

/// Calls `visit` with every message that is set in a field of this one.
void ForEachMessage(const google::protobuf::Message& message,
                    absl::FunctionRef<void(Field field, const google::protobuf::Message& inner)> visit);

/// Whether `is` one of the stored places in the message: of an array, or of a result.
bool AnyStored(const google::protobuf::Message& message,
               absl::FunctionRef<bool(const v1::StoredPlace& place, bool is_result)> is);

/// Whether an array of the message is read from the store or is a temporary one.
bool ReadsStored(const google::protobuf::Message& message);

/// The devices of the sharded arrays and results of a plan, as a mask; 0: none is sharded. If arrays lie on different
/// devices, those of one of them. Leaves out controls (counts and offsets), because the host reads these.
uint64_t FindShardDevices(const v1::Plan& plan, const SharedPlaces& places, const std::string& tenant,
                          absl::FunctionRef<bool(const v1::StoredPlace& place)> is_control);

/// Adds to `held` every region and kept array that an array or destination of the message names, so that they count as
/// in use even for an operation that runs later. Ignores those that do not exist: an earlier operation may make them,
/// and the check of the operation reports the others.
void HoldPlaces(const google::protobuf::Message& message, const SharedPlaces& places, const std::string& tenant,
                std::vector<std::shared_ptr<const void>>& held);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PLAN_PLACES_H_
