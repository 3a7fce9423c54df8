#include "server/rpc/memory_service.h"

#include <string>
#include <utility>

#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/array_transfer.h"
#include "server/rpc/credentials.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr char kOpenLease[] = "open_lease";

// A call that stays open until its caller ends it or disappears.
class LeaseCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  LeaseCall(const MemoryEnvironment& environment, grpc::CallbackServerContext* context, const grpc::ByteBuffer& bytes)
      : regions_(environment.places.regions) {
    const FoundCaller caller = CallerOf(environment.authenticator, *context);
    const absl::Status status = caller.ok() ? Open(environment, **caller, bytes) : caller.status();
    if (!status.ok()) {
      Finish(EndCall(environment, context, kOpenLease, caller, status));
      return;
    }
    environment.metrics->CountCall(kOpenLease, absl::StatusCode::kOk);
    v1::OpenLeaseResponse response;
    response.set_lease_id(id_);
    response_ = SmallBytes(response);
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
  absl::Status Open(const MemoryEnvironment& environment, const Caller& caller, const grpc::ByteBuffer& bytes) {
    v1::OpenLeaseRequest request;
    CORANK_RETURN_IF_ERROR(ParseSmall(bytes, &request));
    const absl::Status shared_memory = CheckSharedMemory(caller);
    if (!shared_memory.ok() && !CheckCudaIpc(caller).ok()) return shared_memory;
    CORANK_RETURN_IF_ERROR(environment.gate->Check());
    CORANK_ASSIGN_OR_RETURN(id_, regions_->OpenLease(caller.tenant));
    return absl::OkStatus();
  }

  RegionRegistry* const regions_;
  std::string id_;  // empty: the call was refused
  grpc::ByteBuffer response_;
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

template <typename Request, typename Work>
grpc::ServerUnaryReactor* MemoryServiceImpl::Answer(grpc::CallbackServerContext* context, absl::string_view operation,
                                                    const FoundCaller& caller, const grpc::ByteBuffer& request,
                                                    grpc::ByteBuffer* response, const Work& work) const {
  const auto answer = [&]() -> absl::Status {
    CORANK_RETURN_IF_ERROR(caller.status());
    Request message;
    CORANK_RETURN_IF_ERROR(ParseSmall(request, &message));
    CORANK_ASSIGN_OR_RETURN(const auto answered, work((*caller)->tenant, message));
    *response = SmallBytes(answered);
    return absl::OkStatus();
  };
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(EndCall(environment_, context, operation, caller, answer()));
  return reactor;
}

absl::Status MemoryServiceImpl::CheckStoreIsOn() const {
  if (environment_.places.arrays->is_on()) return absl::OkStatus();
  return Error(v1::ERROR_REASON_PLACE_DISABLED, "stored arrays are switched off on this server (--kept-bytes)");
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
                                                                  const grpc::ByteBuffer* request,
                                                                  grpc::ByteBuffer* response) {
  return Answer<v1::RegisterSharedMemoryRequest>(
      context, "register_shared_memory", MayRegister(*context, CheckSharedMemory), *request, response,
      [this](const std::string& tenant,
             const v1::RegisterSharedMemoryRequest& message) -> absl::StatusOr<v1::RegisterSharedMemoryResponse> {
        v1::RegisterSharedMemoryResponse registered;
        CORANK_ASSIGN_OR_RETURN(*registered.mutable_region(), environment_.places.regions->Register(tenant, message));
        return registered;
      });
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterCudaIpc(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request,
                                                             grpc::ByteBuffer* response) {
  return Answer<v1::RegisterCudaIpcRequest>(
      context, "register_cuda_ipc", MayRegister(*context, CheckCudaIpc), *request, response,
      [this](const std::string& tenant,
             const v1::RegisterCudaIpcRequest& message) -> absl::StatusOr<v1::RegisterCudaIpcResponse> {
        v1::RegisterCudaIpcResponse registered;
        CORANK_ASSIGN_OR_RETURN(*registered.mutable_region(), environment_.places.regions->Register(tenant, message));
        return registered;
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* MemoryServiceImpl::OpenLease(grpc::CallbackServerContext* context,
                                                                         const grpc::ByteBuffer* request) {
  return new LeaseCall(environment_, context, *request);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListRegions(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return Answer<v1::ListRegionsRequest>(
      context, "list_regions", CallerOf(environment_.authenticator, *context), *request, response,
      [this](const std::string& tenant,
             const v1::ListRegionsRequest& message) -> absl::StatusOr<v1::ListRegionsResponse> {
        CORANK_ASSIGN_OR_RETURN(const Page page,
                                ReadPage(RegionRegistry::kListName, message.page_size(), message.page_token()));
        return environment_.places.regions->List(tenant, page);
      });
}

grpc::ServerUnaryReactor* MemoryServiceImpl::UnregisterRegion(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return Answer<v1::UnregisterRegionRequest>(
      context, "unregister_region", CallerOf(environment_.authenticator, *context), *request, response,
      [this](const std::string& tenant,
             const v1::UnregisterRegionRequest& message) -> absl::StatusOr<v1::UnregisterRegionResponse> {
        CORANK_RETURN_IF_ERROR(environment_.places.regions->Unregister(tenant, message.name()));
        return v1::UnregisterRegionResponse();
      });
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
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return Answer<v1::ListArraysRequest>(
      context, "list_arrays", MayUseStore(*context), *request, response,
      [this](const std::string& tenant,
             const v1::ListArraysRequest& message) -> absl::StatusOr<v1::ListArraysResponse> {
        CORANK_ASSIGN_OR_RETURN(const Page page,
                                ReadPage(ArrayStore::kListName, message.page_size(), message.page_token()));
        return environment_.places.arrays->List(tenant, page);
      });
}

grpc::ServerUnaryReactor* MemoryServiceImpl::DeleteArray(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return Answer<v1::DeleteArrayRequest>(
      context, "delete_array", MayUseStore(*context), *request, response,
      [this](const std::string& tenant,
             const v1::DeleteArrayRequest& message) -> absl::StatusOr<v1::DeleteArrayResponse> {
        CORANK_RETURN_IF_ERROR(environment_.places.arrays->Delete(tenant, message.name()));
        return v1::DeleteArrayResponse();
      });
}

}  // namespace corank
