// A stream of inferences.
#ifndef CORANK_SERVER_KSERVE_INFER_STREAM_H_
#define CORANK_SERVER_KSERVE_INFER_STREAM_H_

#include <memory>

#include "server/kserve/model_statistics.h"
#include "server/rpc/call.h"

namespace corank {

/// What answers a ModelStreamInfer call. It reads the next request once the last one is answered, so answers keep the
/// order of the requests, and flow control holds back a caller that sends faster.
std::shared_ptr<wire::Handler> StartInferStream(const CallEnvironment* environment, std::shared_ptr<wire::Call> call,
                                                ModelStatisticsTable* statistics);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_INFER_STREAM_H_
