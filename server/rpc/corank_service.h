// corank.v1.CorankService: the operators.
#ifndef CORANK_SERVER_RPC_CORANK_SERVICE_H_
#define CORANK_SERVER_RPC_CORANK_SERVICE_H_

#include <memory>

#include "corank/v1/corank_service.pb.h"
#include "server/base/clock.h"
#include "server/rpc/call.h"
#include "server/rpc/execute_job.h"
#include "server/rpc/methods.h"

namespace corank {

/// Thread-safe. Methods never wait: they run on the loops of connections.
class CorankServiceImpl {
 public:
  /// `info`: the answer to GetServerInfo, without the uptime and the state of the devices.
  CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info);

  /// Adds the service's methods. It outlives them.
  void AddTo(Methods* methods);

  ExecuteJobs& jobs() { return *jobs_; }
  const ExecuteJobs& jobs() const { return *jobs_; }

 private:
  std::shared_ptr<wire::Handler> GetServerInfo(const std::shared_ptr<wire::Call>& call) const;

  const CallEnvironment environment_;
  const std::shared_ptr<ExecuteJobs> jobs_;
  const v1::GetServerInfoResponse info_;
  const Instant started_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CORANK_SERVICE_H_
