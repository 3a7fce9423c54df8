// corank.v1.CorankService.
#ifndef CORANK_SERVER_RPC_CORANK_SERVICE_H_
#define CORANK_SERVER_RPC_CORANK_SERVICE_H_

#include "corank/v1/corank_service.grpc.pb.h"
#include "server/rpc/call.h"

namespace corank {

/// Thread-safe. Methods never wait: they run on gRPC's threads.
class CorankServiceImpl final : public v1::CorankService::CallbackService {
 public:
  /// `info`: what GetServerInfo says, less the uptime.
  CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info);

  grpc::ServerUnaryReactor* Sort(grpc::CallbackServerContext* context, const v1::SortRequest* request,
                                 v1::SortResponse* response) override;
  grpc::ServerUnaryReactor* Merge(grpc::CallbackServerContext* context, const v1::MergeRequest* request,
                                  v1::MergeResponse* response) override;
  grpc::ServerUnaryReactor* ExpandIntervals(grpc::CallbackServerContext* context,
                                            const v1::ExpandIntervalsRequest* request,
                                            v1::ExpandIntervalsResponse* response) override;
  grpc::ServerUnaryReactor* MoveIntervals(grpc::CallbackServerContext* context, const v1::MoveIntervalsRequest* request,
                                          v1::MoveIntervalsResponse* response) override;
  grpc::ServerUnaryReactor* GatherIntervals(grpc::CallbackServerContext* context,
                                            const v1::GatherIntervalsRequest* request,
                                            v1::GatherIntervalsResponse* response) override;
  grpc::ServerUnaryReactor* ScatterIntervals(grpc::CallbackServerContext* context,
                                             const v1::ScatterIntervalsRequest* request,
                                             v1::ScatterIntervalsResponse* response) override;
  grpc::ServerUnaryReactor* LoadBalance(grpc::CallbackServerContext* context, const v1::LoadBalanceRequest* request,
                                        v1::LoadBalanceResponse* response) override;
  grpc::ServerUnaryReactor* Search(grpc::CallbackServerContext* context, const v1::SearchRequest* request,
                                   v1::SearchResponse* response) override;
  grpc::ServerBidiReactor<v1::ExecuteRequest, v1::ExecuteResponse>* Execute(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* request,
                                          v1::GetServerInfoResponse* response) override;

 private:
  const CallEnvironment environment_;
  const v1::GetServerInfoResponse info_;
  const Instant started_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CORANK_SERVICE_H_
