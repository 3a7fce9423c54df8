#include "server/rpc/corank_service.h"

#include <utility>

#include "proto/durations.h"
#include "server/base/errors.h"
#include "server/rpc/credentials.h"
#include "server/rpc/execute_call.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"

namespace corank {

CorankServiceImpl::CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info)
    : environment_(environment),
      jobs_(ExecuteJobs::Create(environment)),
      info_(std::move(info)),
      started_(environment.clock->Now()) {}

grpc::ServerUnaryReactor* CorankServiceImpl::Sort(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return StartCall<v1::SortRequest, v1::SortResponse>(&environment_, context, Operator::kSort, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::Merge(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartCall<v1::MergeRequest, v1::MergeResponse>(&environment_, context, Operator::kMerge, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::ExpandIntervals(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request,
                                                             grpc::ByteBuffer* response) {
  return StartCall<v1::ExpandIntervalsRequest, v1::ExpandIntervalsResponse>(
      &environment_, context, Operator::kExpandIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::MoveIntervals(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return StartCall<v1::MoveIntervalsRequest, v1::MoveIntervalsResponse>(&environment_, context,
                                                                        Operator::kMoveIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::GatherIntervals(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request,
                                                             grpc::ByteBuffer* response) {
  return StartCall<v1::GatherIntervalsRequest, v1::GatherIntervalsResponse>(
      &environment_, context, Operator::kGatherIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::ScatterIntervals(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return StartCall<v1::ScatterIntervalsRequest, v1::ScatterIntervalsResponse>(
      &environment_, context, Operator::kScatterIntervals, request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::LoadBalance(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartCall<v1::LoadBalanceRequest, v1::LoadBalanceResponse>(&environment_, context, Operator::kLoadBalance,
                                                                    request, response);
}

grpc::ServerUnaryReactor* CorankServiceImpl::Search(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartCall<v1::SearchRequest, v1::SearchResponse>(&environment_, context, Operator::kSearch, request, response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CorankServiceImpl::Execute(
    grpc::CallbackServerContext* context) {
  return ExecuteCall::Start(jobs_, context);
}

grpc::ServerUnaryReactor* CorankServiceImpl::GetServerInfo(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const CallId id = IdOf(*context);
  ReturnId(id, context);
  absl::Status status = CallerOf(environment_.authenticator, *context).status();
  v1::GetServerInfoRequest message;
  if (status.ok()) status = ParseSmall(*request, &message);
  if (!status.ok()) {
    CountIfForbidden(status, environment_.metrics);
    LogFailedCall(*environment_.logger, id, {{}, context->peer()}, "get_server_info", status);
    reactor->Finish(ToGrpcStatus(status, id.request_id));
    return reactor;
  }
  v1::GetServerInfoResponse info = info_;
  const uint64_t good = environment_.places.devices->good();
  for (int i = 0; i < info.devices_size(); ++i) {
    info.mutable_devices(i)->set_up((good & DeviceSet::Only(i)) != 0);
  }
  *info.mutable_uptime() = DurationToProto(absl::Nanoseconds(Nanoseconds(started_, environment_.clock->Now())));
  *response = SmallBytes(info);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace corank
