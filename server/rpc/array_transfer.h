// StoreArray and FetchArray: transfer of arrays to and from the store, in chunks.
#ifndef CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
#define CORANK_SERVER_RPC_ARRAY_TRANSFER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/security/caller.h"
#include "server/wire/call.h"

namespace corank {

struct MemoryEnvironment;

/// What answers a call of `caller`. If `caller` is an error, it ends the call at once. The environment outlives the
/// call.
std::shared_ptr<wire::Handler> StartStore(const MemoryEnvironment& environment,
                                          absl::StatusOr<std::shared_ptr<const Caller>> caller,
                                          std::shared_ptr<wire::Call> call);
std::shared_ptr<wire::Handler> StartFetch(const MemoryEnvironment& environment,
                                          absl::StatusOr<std::shared_ptr<const Caller>> caller,
                                          std::shared_ptr<wire::Call> call);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
