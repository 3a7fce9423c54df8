#include "server/rpc/corank_service.h"

#include <utility>

#include "server/rpc/refused.h"

namespace corank {

CorankServiceImpl::CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info)
    : environment_(environment), info_(std::move(info)), started_(environment.clock->Now()) {}

grpc::ServerUnaryReactor* CorankServiceImpl::Sort(grpc::CallbackServerContext* context, const v1::SortRequest* request,
                                                  v1::SortResponse* response) {
  return StartCall(&environment_, context, Operator::kSort, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::Merge(grpc::CallbackServerContext* context,
                                                   const v1::MergeRequest* request, v1::MergeResponse* response) {
  return StartCall(&environment_, context, Operator::kMerge, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::ExpandIntervals(grpc::CallbackServerContext* context,
                                                             const v1::ExpandIntervalsRequest* request,
                                                             v1::ExpandIntervalsResponse* response) {
  return StartCall(&environment_, context, Operator::kExpandIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::MoveIntervals(grpc::CallbackServerContext* context,
                                                           const v1::MoveIntervalsRequest* request,
                                                           v1::MoveIntervalsResponse* response) {
  return StartCall(&environment_, context, Operator::kMoveIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::GatherIntervals(grpc::CallbackServerContext* context,
                                                             const v1::GatherIntervalsRequest* request,
                                                             v1::GatherIntervalsResponse* response) {
  return StartCall(&environment_, context, Operator::kGatherIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::ScatterIntervals(grpc::CallbackServerContext* context,
                                                              const v1::ScatterIntervalsRequest* request,
                                                              v1::ScatterIntervalsResponse* response) {
  return StartCall(&environment_, context, Operator::kScatterIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::LoadBalance(grpc::CallbackServerContext* context,
                                                         const v1::LoadBalanceRequest* request,
                                                         v1::LoadBalanceResponse* response) {
  return StartCall(&environment_, context, Operator::kLoadBalance, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::Search(grpc::CallbackServerContext* context,
                                                    const v1::SearchRequest* request, v1::SearchResponse* response) {
  return StartCall(&environment_, context, Operator::kSearch, request, response);
}

grpc::ServerBidiReactor<v1::ExecuteRequest, v1::ExecuteResponse>* CorankServiceImpl::Execute(
    grpc::CallbackServerContext*) {
  return new Refused<grpc::ServerBidiReactor<v1::ExecuteRequest, v1::ExecuteResponse>>(Unimplemented(
      "Execute is not built into this server; send arrays inline with the unary methods, up to max_request_bytes"));
}

grpc::ServerUnaryReactor* CorankServiceImpl::GetServerInfo(grpc::CallbackServerContext* context,
                                                           const v1::GetServerInfoRequest*,
                                                           v1::GetServerInfoResponse* response) {
  *response = info_;
  response->set_uptime_seconds(Nanoseconds(started_, environment_.clock->Now()) / 1'000'000'000);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace corank
