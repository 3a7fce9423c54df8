// A stream of inferences.
#ifndef CORANK_SERVER_KSERVE_INFER_STREAM_H_
#define CORANK_SERVER_KSERVE_INFER_STREAM_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/kserve/model_statistics.h"
#include "server/rpc/call.h"

namespace corank {

/// Starts the reactor of a ModelStreamInfer call; it owns itself. It reads the next request once the last one is
/// answered, so answers keep the order of the requests, and flow control holds back a caller that sends faster.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartInferStream(const CallEnvironment* environment,
                                                                              grpc::CallbackServerContext* context,
                                                                              ModelStatisticsTable* statistics);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_INFER_STREAM_H_
