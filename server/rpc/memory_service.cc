#include "server/rpc/memory_service.h"

#include <string>
#include <utility>

#include "corank/v1/memory_service.pb.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/array_transfer.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr char kService[] = "corank.v1.MemoryService";
constexpr char kOpenLease[] = "open_lease";

absl::Status LeaseIdle() {
  return Error(v1::ERROR_REASON_STREAM_IDLE,
               "the lease had no region for --region-expiry; open another one before the next registration");
}

// A call that stays open until its caller ends it or disappears.
class LeaseCall final : public SmallCall {
 public:
  LeaseCall(const MemoryEnvironment& environment, std::shared_ptr<wire::Call> call, FoundCaller caller)
      : SmallCall(std::move(call)), environment_(environment), caller_(std::move(caller)) {
    Begin(caller_.status());
  }
  void OnDone() override {
    if (!id_.empty()) environment_.places.regions->CloseLease(id_);
  }

 private:
  void Take(absl::StatusOr<std::string> message) override {
    if (const absl::Status status = Open(message); !status.ok()) {
      return EndCall(environment_, call().get(), kOpenLease, caller_, status);
    }
    environment_.metrics->CountCall(kOpenLease, absl::StatusCode::kOk);
    v1::OpenLeaseResponse response;
    response.set_lease_id(id_);
    call()->Write(SmallBytes(response));
  }
  void Cancelled(const absl::Status&) override { call()->Finish(ToCallStatus(CallerCancelled(), "")); }

  absl::Status Open(const absl::StatusOr<std::string>& message) {
    CORANK_RETURN_IF_ERROR(message.status());
    v1::OpenLeaseRequest request;
    CORANK_RETURN_IF_ERROR(ParseSmall(*message, &request));
    const auto end = [call = call()] { call->Finish(ToCallStatus(LeaseIdle(), "")); };
    CORANK_ASSIGN_OR_RETURN(id_, environment_.places.regions->OpenLease((*caller_)->tenant, end));
    return absl::OkStatus();
  }

  const MemoryEnvironment& environment_;
  const FoundCaller caller_;
  std::string id_;  // empty: the call was refused
};

}  // namespace

absl::Status MemoryEnvironment::Admit(const Caller& caller) const {
  CORANK_RETURN_IF_ERROR(TakeRate(rates, metrics, caller, clock->Now()));
  return gate->Check();
}

void EndCall(const MemoryEnvironment& environment, wire::Call* call, absl::string_view operation,
             const FoundCaller& caller, const absl::Status& status, std::optional<Bytes> response) {
  const CallId id = IdOf(call->head());
  if (!status.ok()) {
    const absl::string_view tenant = caller.ok() ? (*caller)->tenant : absl::string_view();
    LogFailedCall(*environment.logger, id, {tenant, call->head().peer->address}, operation, status);
    response.reset();
  }
  environment.metrics->CountCall(operation, status.code());
  CountIfForbidden(status, environment.metrics);
  if (caller.ok()) CountIfShort(status, environment.metrics);  // who may not call has counted its reason
  call->Finish(ToCallStatus(status, id.request_id), TrailersOf(id), std::move(response));
}

absl::Status TooManyWait() {
  return RetryLater(v1::ERROR_REASON_QUEUE_FULL, "too many calls of this tenant are waiting for a helper thread",
                    absl::Seconds(1));
}

FoundCaller MayRegister(const MemoryEnvironment& environment, const wire::CallHead& call,
                        absl::Status (*permission)(const Caller&)) {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, CallerOf(environment.authenticator, call));
  CORANK_RETURN_IF_ERROR(permission(*caller));
  CORANK_RETURN_IF_ERROR(environment.Admit(*caller));
  return caller;
}

FoundCaller MemoryServiceImpl::MayLease(const wire::CallHead& call) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, CallerOf(environment_.authenticator, call));
  const absl::Status shared_memory = CheckSharedMemory(*caller);
  if (!shared_memory.ok() && !CheckCudaIpc(*caller).ok()) return shared_memory;
  CORANK_RETURN_IF_ERROR(environment_.Admit(*caller));
  return caller;
}

FoundCaller MemoryServiceImpl::MayUseStore(const wire::CallHead& call) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, CallerOf(environment_.authenticator, call));
  CORANK_RETURN_IF_ERROR(CheckStoredArrays(*caller));
  if (environment_.places.arrays->is_on()) return caller;
  return Error(v1::ERROR_REASON_PLACE_DISABLED, "stored arrays are switched off on this server (--kept-bytes)");
}

FoundCaller MemoryServiceImpl::MayMove(const wire::CallHead& call) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, MayUseStore(call));
  CORANK_RETURN_IF_ERROR(environment_.Admit(*caller));
  return caller;
}

void MemoryServiceImpl::AddTo(Methods* methods) {
  RegionRegistry* const regions = environment_.places.regions;
  ArrayStore* const arrays = environment_.places.arrays;
  const CallerFinder anybody = [this](const wire::CallHead& call) { return Anybody(call); };
  const CallerFinder may_use_store = [this](const wire::CallHead& call) { return MayUseStore(call); };

  AddUnary<v1::RegisterSharedMemoryRequest>(
      methods, kService, "RegisterSharedMemory", "register_shared_memory", environment_,
      [this](const wire::CallHead& call) { return MayRegister(environment_, call, CheckSharedMemory); },
      [regions](const Caller& caller, const v1::RegisterSharedMemoryRequest& message,
                const RegionRegistry::Wanted& wanted) -> absl::StatusOr<v1::RegisterSharedMemoryResponse> {
        v1::RegisterSharedMemoryResponse registered;
        CORANK_ASSIGN_OR_RETURN(*registered.mutable_region(), regions->Register(caller.tenant, message, wanted));
        return registered;
      });
  AddUnary<v1::RegisterCudaIpcRequest>(
      methods, kService, "RegisterCudaIpc", "register_cuda_ipc", environment_,
      [this](const wire::CallHead& call) { return MayRegister(environment_, call, CheckCudaIpc); },
      [regions](const Caller& caller, const v1::RegisterCudaIpcRequest& message,
                const RegionRegistry::Wanted& wanted) -> absl::StatusOr<v1::RegisterCudaIpcResponse> {
        v1::RegisterCudaIpcResponse registered;
        CORANK_ASSIGN_OR_RETURN(*registered.mutable_region(), regions->Register(caller.tenant, message, wanted));
        return registered;
      });
  AddUnary<v1::ListRegionsRequest>(
      methods, kService, "ListRegions", "list_regions", environment_, anybody,
      [regions](const Caller& caller,
                const v1::ListRegionsRequest& message) -> absl::StatusOr<v1::ListRegionsResponse> {
        CORANK_ASSIGN_OR_RETURN(const Page page,
                                ReadPage(RegionRegistry::kListName, message.page_size(), message.page_token()));
        return regions->List(caller.tenant, page);
      });
  AddUnary<v1::UnregisterRegionRequest>(
      methods, kService, "UnregisterRegion", "unregister_region", environment_, anybody,
      [regions](const Caller& caller,
                const v1::UnregisterRegionRequest& message) -> absl::StatusOr<v1::UnregisterRegionResponse> {
        CORANK_RETURN_IF_ERROR(regions->Unregister(caller.tenant, message.name()));
        return v1::UnregisterRegionResponse();
      });
  AddUnary<v1::ListArraysRequest>(
      methods, kService, "ListArrays", "list_arrays", environment_, may_use_store,
      [arrays](const Caller& caller, const v1::ListArraysRequest& message) -> absl::StatusOr<v1::ListArraysResponse> {
        CORANK_ASSIGN_OR_RETURN(const Page page,
                                ReadPage(ArrayStore::kListName, message.page_size(), message.page_token()));
        return arrays->List(caller.tenant, page);
      });
  AddUnary<v1::DeleteArrayRequest>(
      methods, kService, "DeleteArray", "delete_array", environment_, may_use_store,
      [arrays](const Caller& caller, const v1::DeleteArrayRequest& message) -> absl::StatusOr<v1::DeleteArrayResponse> {
        CORANK_RETURN_IF_ERROR(arrays->Delete(caller.tenant, message.name()));
        return v1::DeleteArrayResponse();
      });
  methods->Add(kService, "OpenLease", [this](const std::shared_ptr<wire::Call>& call) {
    return std::make_shared<LeaseCall>(environment_, call, MayLease(call->head()));
  });
  methods->Add(kService, "StoreArray", [this](const std::shared_ptr<wire::Call>& call) {
    return StartStore(environment_, MayMove(call->head()), call);
  });
  methods->Add(kService, "FetchArray", [this](const std::shared_ptr<wire::Call>& call) {
    return StartFetch(environment_, MayMove(call->head()), call);
  });
}

}  // namespace corank
