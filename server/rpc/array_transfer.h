// StoreArray and FetchArray: transfer of arrays to and from the store, in chunks.
#ifndef CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
#define CORANK_SERVER_RPC_ARRAY_TRANSFER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/security/caller.h"

namespace corank {

struct MemoryEnvironment;

/// Start a call of `caller`. If `caller` is an error, it ends the call at once. gRPC takes the reactor, which owns
/// itself. The environment outlives the call.
grpc::ServerReadReactor<grpc::ByteBuffer>* StartStore(const MemoryEnvironment& environment,
                                                      absl::StatusOr<std::shared_ptr<const Caller>> caller,
                                                      grpc::CallbackServerContext* context, grpc::ByteBuffer* response);
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetch(const MemoryEnvironment& environment,
                                                       absl::StatusOr<std::shared_ptr<const Caller>> caller,
                                                       grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
