// StoreArray and FetchArray: arrays on their way to and from the store, in chunks.
#ifndef CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
#define CORANK_SERVER_RPC_ARRAY_TRANSFER_H_

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"

namespace corank {

struct MemoryEnvironment;

/// Start a call; `allowed`: not OK ends it at once. gRPC takes the reactor, which owns itself. The environment outlives
/// the call.
grpc::ServerReadReactor<grpc::ByteBuffer>* StartStore(const MemoryEnvironment& environment, const absl::Status& allowed,
                                                      grpc::CallbackServerContext* context, grpc::ByteBuffer* response);
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetch(const MemoryEnvironment& environment,
                                                       const absl::Status& allowed,
                                                       grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ARRAY_TRANSFER_H_
