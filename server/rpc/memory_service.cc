#include "server/rpc/memory_service.h"

#include <string>
#include <utility>

#include "server/execute/status_macros.h"
#include "server/respond/errors.h"
#include "server/rpc/array_transfer.h"
#include "server/rpc/credentials.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr char kOpenLease[] = "open_lease";

// A call that stays open until its caller ends it or is gone.
class LeaseCall final : public grpc::ServerWriteReactor<v1::OpenLeaseResponse> {
 public:
  LeaseCall(const MemoryEnvironment& environment, grpc::CallbackServerContext* context)
      : regions_(environment.places.regions) {
    const FoundCaller caller = CallerOf(environment.authenticator, *context);
    const absl::Status status = caller.ok() ? Open(environment, **caller) : caller.status();
    if (!status.ok()) {
      Finish(EndCall(environment, context, kOpenLease, caller, status));
      return;
    }
    environment.metrics->CountCall(kOpenLease, absl::StatusCode::kOk);
    response_.set_lease_id(id_);
    StartWrite(&response_);
  }
  void OnCancel() override {
    if (!id_.empty()) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    if (!id_.empty()) regions_->CloseLease(id_);
    delete this;
  }

 private:
  absl::Status Open(const MemoryEnvironment& environment, const Caller& caller) {
    const absl::Status shared_memory = CheckSharedMemory(caller);
    if (!shared_memory.ok() && !CheckCudaIpc(caller).ok()) return shared_memory;
    CORANK_RETURN_IF_ERROR(environment.gate->Check());
    CORANK_ASSIGN_OR_RETURN(id_, regions_->OpenLease(caller.tenant));
    return absl::OkStatus();
  }

  RegionRegistry* const regions_;
  std::string id_;  // empty: the call was refused
  v1::OpenLeaseResponse response_;
};

}  // namespace

grpc::Status EndCall(const MemoryEnvironment& environment, grpc::CallbackServerContext* context,
                     absl::string_view operation, const FoundCaller& caller, const absl::Status& status) {
  const CallId id = IdOf(*context);
  if (!status.ok()) {
    const absl::string_view tenant = caller.ok() ? (*caller)->tenant : absl::string_view();
    LogFailedCall(*environment.logger, id, {tenant, context->peer()}, operation, status);
  }
  environment.metrics->CountCall(operation, status.code());
  CountIfForbidden(status, environment.metrics);
  CountIfShort(status, environment.metrics);
  ReturnId(id, context);
  return ToGrpcStatus(status, id.request_id);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::Answer(grpc::CallbackServerContext* context, absl::string_view operation,
                                                    const FoundCaller& caller, const absl::Status& status) const {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(EndCall(environment_, context, operation, caller, status));
  return reactor;
}

absl::Status MemoryServiceImpl::CheckStoreIsOn() const {
  if (environment_.places.arrays->is_on()) return absl::OkStatus();
  return absl::UnimplementedError("kept arrays are switched off on this server (--kept-bytes)");
}

FoundCaller MemoryServiceImpl::MayRegister(const grpc::CallbackServerContext& context,
                                           absl::Status (*permission)(const Caller&)) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, CallerOf(environment_.authenticator, context));
  CORANK_RETURN_IF_ERROR(permission(*caller));
  CORANK_RETURN_IF_ERROR(environment_.gate->Check());
  return caller;
}

FoundCaller MemoryServiceImpl::MayUseStore(const grpc::CallbackServerContext& context) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, CallerOf(environment_.authenticator, context));
  CORANK_RETURN_IF_ERROR(CheckStoredArrays(*caller));
  CORANK_RETURN_IF_ERROR(CheckStoreIsOn());
  return caller;
}

FoundCaller MemoryServiceImpl::MayMove(const grpc::CallbackServerContext& context) const {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, MayUseStore(context));
  CORANK_RETURN_IF_ERROR(environment_.gate->Check());
  return caller;
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterSharedMemory(grpc::CallbackServerContext* context,
                                                                  const v1::RegisterSharedMemoryRequest* request,
                                                                  v1::RegisterSharedMemoryResponse* response) {
  const FoundCaller caller = MayRegister(*context, CheckSharedMemory);
  if (!caller.ok()) return Answer(context, "register_shared_memory", caller, caller.status());
  const absl::StatusOr<v1::Region> region = environment_.places.regions->Register((*caller)->tenant, *request);
  if (region.ok()) *response->mutable_region() = *region;
  return Answer(context, "register_shared_memory", caller, region.status());
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterCudaIpc(grpc::CallbackServerContext* context,
                                                             const v1::RegisterCudaIpcRequest* request,
                                                             v1::RegisterCudaIpcResponse* response) {
  const FoundCaller caller = MayRegister(*context, CheckCudaIpc);
  if (!caller.ok()) return Answer(context, "register_cuda_ipc", caller, caller.status());
  const absl::StatusOr<v1::Region> region = environment_.places.regions->Register((*caller)->tenant, *request);
  if (region.ok()) *response->mutable_region() = *region;
  return Answer(context, "register_cuda_ipc", caller, region.status());
}

grpc::ServerWriteReactor<v1::OpenLeaseResponse>* MemoryServiceImpl::OpenLease(grpc::CallbackServerContext* context,
                                                                              const v1::OpenLeaseRequest*) {
  return new LeaseCall(environment_, context);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListRegions(grpc::CallbackServerContext* context,
                                                         const v1::ListRegionsRequest*,
                                                         v1::ListRegionsResponse* response) {
  const FoundCaller caller = CallerOf(environment_.authenticator, *context);
  if (!caller.ok()) return Answer(context, "list_regions", caller, caller.status());
  for (v1::Region& region : environment_.places.regions->List((*caller)->tenant)) {
    *response->add_regions() = std::move(region);
  }
  return Answer(context, "list_regions", caller, absl::OkStatus());
}

grpc::ServerUnaryReactor* MemoryServiceImpl::UnregisterRegion(grpc::CallbackServerContext* context,
                                                              const v1::UnregisterRegionRequest* request,
                                                              v1::UnregisterRegionResponse*) {
  const FoundCaller caller = CallerOf(environment_.authenticator, *context);
  if (!caller.ok()) return Answer(context, "unregister_region", caller, caller.status());
  return Answer(context, "unregister_region", caller,
                environment_.places.regions->Unregister((*caller)->tenant, request->name()));
}

grpc::ServerReadReactor<grpc::ByteBuffer>* MemoryServiceImpl::StoreArray(grpc::CallbackServerContext* context,
                                                                         grpc::ByteBuffer* response) {
  return StartStore(environment_, MayMove(*context), context, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* MemoryServiceImpl::FetchArray(grpc::CallbackServerContext* context,
                                                                          const grpc::ByteBuffer* request) {
  return StartFetch(environment_, MayMove(*context), context, request);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListArrays(grpc::CallbackServerContext* context,
                                                        const v1::ListArraysRequest*,
                                                        v1::ListArraysResponse* response) {
  const FoundCaller caller = MayUseStore(*context);
  if (caller.ok()) *response = environment_.places.arrays->List((*caller)->tenant);
  return Answer(context, "list_arrays", caller, caller.status());
}

grpc::ServerUnaryReactor* MemoryServiceImpl::DeleteArray(grpc::CallbackServerContext* context,
                                                         const v1::DeleteArrayRequest* request,
                                                         v1::DeleteArrayResponse*) {
  const FoundCaller caller = MayUseStore(*context);
  if (!caller.ok()) return Answer(context, "delete_array", caller, caller.status());
  return Answer(context, "delete_array", caller,
                environment_.places.arrays->Delete((*caller)->tenant, request->name()));
}

}  // namespace corank
