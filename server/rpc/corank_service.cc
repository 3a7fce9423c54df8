#include "server/rpc/corank_service.h"

#include <string>
#include <utility>

#include "proto/durations.h"
#include "server/base/errors.h"
#include "server/model/operator.h"
#include "server/rpc/credentials.h"
#include "server/rpc/early_refusal.h"
#include "server/rpc/execute_call.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

constexpr char kService[] = "corank.v1.CorankService";

template <typename Request, typename Response>
void AddOperator(const CallEnvironment* environment, absl::string_view method, Operator op, Methods* methods) {
  methods->Add(kService, method, [environment, op](const std::shared_ptr<wire::Call>& call) {
    if (std::shared_ptr<wire::Handler> refused = RefuseIfLate(*call, op, environment->metrics)) return refused;
    return BeginUnary<OperatorCall<Request, Response>>(environment, call, op);
  });
}

}  // namespace

CorankServiceImpl::CorankServiceImpl(const CallEnvironment& environment, v1::GetServerInfoResponse info)
    : environment_(environment),
      jobs_(ExecuteJobs::Create(environment)),
      info_(std::move(info)),
      started_(environment.clock->Now()) {}

void CorankServiceImpl::AddTo(Methods* methods) {
  const CallEnvironment* const environment = &environment_;
#define CORANK_ROW(Name, name) \
  AddOperator<v1::Name##Request, v1::Name##Response>(environment, #Name, Operator::k##Name, methods);
  CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW
  methods->Add(kService, "Execute",
               [this](const std::shared_ptr<wire::Call>& call) { return ExecuteCall::Start(jobs_, call); });
  methods->Add(kService, "GetServerInfo",
               [this](const std::shared_ptr<wire::Call>& call) { return GetServerInfo(call); });
}

std::shared_ptr<wire::Handler> CorankServiceImpl::GetServerInfo(const std::shared_ptr<wire::Call>& call) const {
  return AnswerSmall(
      call, CallerOf(environment_.authenticator, call->head()).status(),
      [this, call](const absl::StatusOr<std::string>& bytes) {
        const CallId id = IdOf(call->head());
        absl::Status status = bytes.status();
        v1::GetServerInfoRequest message;
        if (status.ok()) status = ParseSmall(*bytes, &message);
        if (!status.ok()) {
          CountIfForbidden(status, environment_.metrics);
          LogFailedCall(*environment_.logger, id, {{}, call->head().peer->address}, "get_server_info", status);
          return call->Finish(ToCallStatus(status, id.request_id), TrailersOf(id));
        }
        v1::GetServerInfoResponse info = info_;
        const uint64_t good = environment_.places.devices->good();
        for (int i = 0; i < info.devices_size(); ++i) {
          info.mutable_devices(i)->set_up((good & DeviceSet::Only(i)) != 0);
        }
        *info.mutable_uptime() = DurationToProto(absl::Nanoseconds(Nanoseconds(started_, environment_.clock->Now())));
        call->Finish({}, TrailersOf(id), SmallBytes(info));
      });
}

}  // namespace corank
