// corank.v1.MemoryService: switched off in this version, and says so.
#ifndef CORANK_SERVER_RPC_MEMORY_SERVICE_H_
#define CORANK_SERVER_RPC_MEMORY_SERVICE_H_

#include "corank/v1/memory_service.grpc.pb.h"

namespace corank {

class MemoryServiceImpl final : public v1::MemoryService::CallbackService {
 public:
  grpc::ServerUnaryReactor* RegisterSharedMemory(grpc::CallbackServerContext*, const v1::RegisterSharedMemoryRequest*,
                                                 v1::RegisterSharedMemoryResponse*) override;
  grpc::ServerUnaryReactor* RegisterCudaIpc(grpc::CallbackServerContext*, const v1::RegisterCudaIpcRequest*,
                                            v1::RegisterCudaIpcResponse*) override;
  grpc::ServerUnaryReactor* ListRegions(grpc::CallbackServerContext*, const v1::ListRegionsRequest*,
                                        v1::ListRegionsResponse*) override;
  grpc::ServerUnaryReactor* UnregisterRegion(grpc::CallbackServerContext*, const v1::UnregisterRegionRequest*,
                                             v1::UnregisterRegionResponse*) override;
  grpc::ServerReadReactor<v1::StoreArrayRequest>* StoreArray(grpc::CallbackServerContext*,
                                                             v1::StoreArrayResponse*) override;
  grpc::ServerWriteReactor<v1::FetchArrayResponse>* FetchArray(grpc::CallbackServerContext*,
                                                               const v1::FetchArrayRequest*) override;
  grpc::ServerUnaryReactor* ListArrays(grpc::CallbackServerContext*, const v1::ListArraysRequest*,
                                       v1::ListArraysResponse*) override;
  grpc::ServerUnaryReactor* DeleteArray(grpc::CallbackServerContext*, const v1::DeleteArrayRequest*,
                                        v1::DeleteArrayResponse*) override;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_MEMORY_SERVICE_H_
