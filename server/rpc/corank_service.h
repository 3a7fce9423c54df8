// corank.v1.CorankService.
#ifndef CORANK_SERVER_RPC_CORANK_SERVICE_H_
#define CORANK_SERVER_RPC_CORANK_SERVICE_H_

#include "corank/v1/corank_service.grpc.pb.h"
#include "server/rpc/call.h"
#include "server/rpc/execute_job.h"

namespace corank {

/// Messages arrive and leave as bytes, for three reasons: the server itself reports bytes that are not a valid message,
/// nothing is parsed before the caller is authenticated, and results are copied only once.
using CorankServiceBase = v1::CorankService::WithRawCallbackMethod_Sort<
    v1::CorankService::WithRawCallbackMethod_Merge<v1::CorankService::WithRawCallbackMethod_ExpandIntervals<
        v1::CorankService::WithRawCallbackMethod_MoveIntervals<v1::CorankService::WithRawCallbackMethod_GatherIntervals<
            v1::CorankService::WithRawCallbackMethod_ScatterIntervals<
                v1::CorankService::WithRawCallbackMethod_LoadBalance<
                    v1::CorankService::WithRawCallbackMethod_Search<v1::CorankService::WithRawCallbackMethod_Execute<
                        v1::CorankService::WithRawCallbackMethod_GetServerInfo<v1::CorankService::Service>>>>>>>>>>;

/// Thread-safe. Methods never wait: they run on gRPC's threads.
class CorankServiceImpl final : public CorankServiceBase {
 public:
  /// `info`: the answer to GetServerInfo, without the uptime and the state of the devices.
  CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info);

  grpc::ServerUnaryReactor* Sort(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Merge(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ExpandIntervals(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* MoveIntervals(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GatherIntervals(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ScatterIntervals(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* LoadBalance(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Search(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Execute(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

  ExecuteJobs& jobs() { return *jobs_; }
  const ExecuteJobs& jobs() const { return *jobs_; }

 private:
  const CallEnvironment environment_;
  const std::shared_ptr<ExecuteJobs> jobs_;
  const v1::GetServerInfoResponse info_;
  const Instant started_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CORANK_SERVICE_H_
