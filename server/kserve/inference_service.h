// inference.GRPCInferenceService: the operators for clients of the Open Inference Protocol.
#ifndef CORANK_SERVER_KSERVE_INFERENCE_SERVICE_H_
#define CORANK_SERVER_KSERVE_INFERENCE_SERVICE_H_

#include <memory>

#include "corank/v1/corank_service.pb.h"
#include "server/rpc/call.h"
#include "server/rpc/health.h"
#include "server/rpc/memory_service.h"
#include "server/rpc/methods.h"

namespace corank {

/// Thread-safe; methods never wait for work.
class InferenceService {
 public:
  virtual ~InferenceService() = default;
  /// Adds the service's methods. It outlives them.
  virtual void AddTo(Methods* methods) = 0;
};

/// `info`: the server's description of itself. `health` outlives the service.
std::unique_ptr<InferenceService> MakeInferenceService(const CallEnvironment& calls, const MemoryEnvironment& memory,
                                                       const HealthBoard* health,
                                                       const v1::GetServerInfoResponse& info);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_INFERENCE_SERVICE_H_
