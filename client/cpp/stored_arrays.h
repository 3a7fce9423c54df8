// Arrays that the server stores: calls of MemoryService.
#ifndef CORANK_CLIENT_CPP_STORED_ARRAYS_H_
#define CORANK_CLIENT_CPP_STORED_ARRAYS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "corank/memory.h"

namespace corank::client {

/// The methods of Client with these arguments. They use the deadline, cancellation and progress of CallOptions.
absl::StatusOr<StoredArray> StoreArray(Connection* connection, const std::string& name, const ArrayView& array,
                                       absl::Duration expiry, bool sharded, const CallOptions& call);
absl::StatusOr<Array> FetchArray(Connection* connection, const std::string& name, const CallOptions& call);
absl::StatusOr<StoredArrays> ListStoredArrays(Connection* connection, const CallOptions& call);
absl::Status DeleteStoredArray(Connection* connection, const std::string& name, const CallOptions& call);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STORED_ARRAYS_H_
