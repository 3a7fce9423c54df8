#include "server/rpc/memory_service.h"

#include <string>
#include <utility>

#include "server/respond/errors.h"
#include "server/rpc/array_transfer.h"
#include "server/rpc/request_id.h"

namespace corank {
namespace {

// A call that stays open until its caller ends it or is gone.
class LeaseCall final : public grpc::ServerWriteReactor<v1::OpenLeaseResponse> {
 public:
  explicit LeaseCall(RegionRegistry* regions) : regions_(regions), id_(regions->OpenLease(kAnonymous)) {
    response_.set_lease_id(id_);
    StartWrite(&response_);
  }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    regions_->CloseLease(id_);
    delete this;
  }

 private:
  RegionRegistry* const regions_;
  const std::string id_;
  v1::OpenLeaseResponse response_;
};

}  // namespace

grpc::Status EndCall(const MemoryEnvironment& environment, grpc::CallbackServerContext* context,
                     const absl::Status& status) {
  const std::string request_id = MakeRequestId();
  if (status.code() == absl::StatusCode::kInternal) {
    environment.logger->Log(LogLevel::kError, "request_failed",
                            {{"request_id", request_id}, {"message", std::string(status.message())}});
  }
  context->AddTrailingMetadata(kRequestIdKey, request_id);
  return ToGrpcStatus(status, request_id);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::Answer(grpc::CallbackServerContext* context,
                                                    const absl::Status& status) const {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(EndCall(environment_, context, status));
  return reactor;
}

absl::Status MemoryServiceImpl::CheckStoreIsOn() const {
  if (environment_.places.arrays->is_on()) return absl::OkStatus();
  return absl::UnimplementedError("kept arrays are switched off on this server (--kept-bytes)");
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterSharedMemory(grpc::CallbackServerContext* context,
                                                                  const v1::RegisterSharedMemoryRequest* request,
                                                                  v1::RegisterSharedMemoryResponse* response) {
  const absl::StatusOr<v1::Region> region = environment_.places.regions->Register(kAnonymous, *request);
  if (region.ok()) *response->mutable_region() = *region;
  return Answer(context, region.status());
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterCudaIpc(grpc::CallbackServerContext* context,
                                                             const v1::RegisterCudaIpcRequest* request,
                                                             v1::RegisterCudaIpcResponse* response) {
  const absl::StatusOr<v1::Region> region = environment_.places.regions->Register(kAnonymous, *request);
  if (region.ok()) *response->mutable_region() = *region;
  return Answer(context, region.status());
}

grpc::ServerWriteReactor<v1::OpenLeaseResponse>* MemoryServiceImpl::OpenLease(grpc::CallbackServerContext*,
                                                                              const v1::OpenLeaseRequest*) {
  return new LeaseCall(environment_.places.regions);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListRegions(grpc::CallbackServerContext* context,
                                                         const v1::ListRegionsRequest*,
                                                         v1::ListRegionsResponse* response) {
  for (v1::Region& region : environment_.places.regions->List(kAnonymous)) *response->add_regions() = std::move(region);
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* MemoryServiceImpl::UnregisterRegion(grpc::CallbackServerContext* context,
                                                              const v1::UnregisterRegionRequest* request,
                                                              v1::UnregisterRegionResponse*) {
  return Answer(context, environment_.places.regions->Unregister(kAnonymous, request->name()));
}

grpc::ServerReadReactor<grpc::ByteBuffer>* MemoryServiceImpl::StoreArray(grpc::CallbackServerContext* context,
                                                                         grpc::ByteBuffer* response) {
  return StartStore(environment_, CheckStoreIsOn(), context, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* MemoryServiceImpl::FetchArray(grpc::CallbackServerContext* context,
                                                                          const grpc::ByteBuffer* request) {
  return StartFetch(environment_, CheckStoreIsOn(), context, request);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListArrays(grpc::CallbackServerContext* context,
                                                        const v1::ListArraysRequest*,
                                                        v1::ListArraysResponse* response) {
  const absl::Status status = CheckStoreIsOn();
  if (status.ok()) *response = environment_.places.arrays->List(kAnonymous);
  return Answer(context, status);
}

grpc::ServerUnaryReactor* MemoryServiceImpl::DeleteArray(grpc::CallbackServerContext* context,
                                                         const v1::DeleteArrayRequest* request,
                                                         v1::DeleteArrayResponse*) {
  const absl::Status status = CheckStoreIsOn();
  return Answer(context, status.ok() ? environment_.places.arrays->Delete(kAnonymous, request->name()) : status);
}

}  // namespace corank
