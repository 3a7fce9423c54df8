#include "server/rpc/memory_service.h"

#include "server/rpc/refused.h"

namespace corank {
namespace {

template <typename Reactor>
Reactor* Refuse() {
  return new Refused<Reactor>(
      Unimplemented("regions and kept arrays are not built into this server; send arrays inline with each call"));
}

}  // namespace

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterSharedMemory(grpc::CallbackServerContext*,
                                                                  const v1::RegisterSharedMemoryRequest*,
                                                                  v1::RegisterSharedMemoryResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

grpc::ServerUnaryReactor* MemoryServiceImpl::RegisterCudaIpc(grpc::CallbackServerContext*,
                                                             const v1::RegisterCudaIpcRequest*,
                                                             v1::RegisterCudaIpcResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListRegions(grpc::CallbackServerContext*, const v1::ListRegionsRequest*,
                                                         v1::ListRegionsResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

grpc::ServerUnaryReactor* MemoryServiceImpl::UnregisterRegion(grpc::CallbackServerContext*,
                                                              const v1::UnregisterRegionRequest*,
                                                              v1::UnregisterRegionResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

grpc::ServerReadReactor<v1::StoreArrayRequest>* MemoryServiceImpl::StoreArray(grpc::CallbackServerContext*,
                                                                              v1::StoreArrayResponse*) {
  return Refuse<grpc::ServerReadReactor<v1::StoreArrayRequest>>();
}

grpc::ServerWriteReactor<v1::FetchArrayResponse>* MemoryServiceImpl::FetchArray(grpc::CallbackServerContext*,
                                                                                const v1::FetchArrayRequest*) {
  return Refuse<grpc::ServerWriteReactor<v1::FetchArrayResponse>>();
}

grpc::ServerUnaryReactor* MemoryServiceImpl::ListArrays(grpc::CallbackServerContext*, const v1::ListArraysRequest*,
                                                        v1::ListArraysResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

grpc::ServerUnaryReactor* MemoryServiceImpl::DeleteArray(grpc::CallbackServerContext*, const v1::DeleteArrayRequest*,
                                                         v1::DeleteArrayResponse*) {
  return Refuse<grpc::ServerUnaryReactor>();
}

}  // namespace corank
