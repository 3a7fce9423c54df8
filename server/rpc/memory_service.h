// corank.v1.MemoryService: registered regions and kept arrays.
#ifndef CORANK_SERVER_RPC_MEMORY_SERVICE_H_
#define CORANK_SERVER_RPC_MEMORY_SERVICE_H_

#include "absl/time/time.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/gate.h"
#include "server/rpc/request_places.h"
#include "server/security/authenticator.h"
#include "server/security/caller.h"

namespace corank {

/// All messages come and go as bytes: no payload passes through protobuf, and nothing is parsed before its caller is
/// known.
using MemoryServiceBase = v1::MemoryService::WithRawCallbackMethod_StoreArray<
    v1::MemoryService::WithRawCallbackMethod_FetchArray<v1::MemoryService::WithRawCallbackMethod_RegisterSharedMemory<
        v1::MemoryService::WithRawCallbackMethod_RegisterCudaIpc<
            v1::MemoryService::WithRawCallbackMethod_OpenLease<v1::MemoryService::WithRawCallbackMethod_ListRegions<
                v1::MemoryService::WithRawCallbackMethod_UnregisterRegion<
                    v1::MemoryService::WithRawCallbackMethod_ListArrays<
                        v1::MemoryService::WithRawCallbackMethod_DeleteArray<v1::MemoryService::Service>>>>>>>>>;

/// What the calls of the service need. The pointees outlive all calls.
struct MemoryEnvironment {
  SharedPlaces places;
  const Logger* logger = nullptr;
  int64_t max_chunk_bytes = 0;
  /// Counts StoreArray and FetchArray, which a server that drains finishes. Leases do not count.
  ActiveCalls* active_calls = nullptr;
  /// Closed: nothing is registered, stored or fetched any more; what there is can still be listed and given back.
  const Gate* gate = nullptr;
  Metrics* metrics = nullptr;
  /// Null: calls are anonymous.
  const Authenticator* authenticator = nullptr;
  /// How long StoreArray and FetchArray wait for a caller that neither sends nor reads.
  absl::Duration idle_timeout = absl::Minutes(1);
};

/// Who calls, or why he may not.
using FoundCaller = absl::StatusOr<std::shared_ptr<const Caller>>;

/// How a call of the service ends: counted as `operation`, with a request id in its trailing metadata, by which the log
/// says more of a fault.
grpc::Status EndCall(const MemoryEnvironment& environment, grpc::CallbackServerContext* context,
                     absl::string_view operation, const FoundCaller& caller, const absl::Status& status);

/// Thread-safe. Mapping, pinning and allocating take milliseconds on gRPC's threads; nothing waits for a lane.
class MemoryServiceImpl final : public MemoryServiceBase {
 public:
  explicit MemoryServiceImpl(const MemoryEnvironment& environment) : environment_(environment) {}

  grpc::ServerUnaryReactor* RegisterSharedMemory(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RegisterCudaIpc(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* OpenLease(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* ListRegions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UnregisterRegion(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* StoreArray(grpc::CallbackServerContext* context,
                                                        grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FetchArray(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* ListArrays(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteArray(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;

 private:
  // Ends a unary call with what `work` answers, a StatusOr of the response, to its tenant and Request; it is not called
  // where the caller may not or the message is none.
  template <typename Request, typename Work>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, absl::string_view operation,
                                   const FoundCaller& caller, const grpc::ByteBuffer& request,
                                   grpc::ByteBuffer* response, const Work& work) const;
  absl::Status CheckStoreIsOn() const;
  // Who calls; an error where they may not, or where kept arrays are off.
  FoundCaller MayRegister(const grpc::CallbackServerContext& context, absl::Status (*permission)(const Caller&)) const;
  FoundCaller MayUseStore(const grpc::CallbackServerContext& context) const;
  FoundCaller MayMove(const grpc::CallbackServerContext& context) const;  // also whether new transfers are taken

  const MemoryEnvironment environment_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_MEMORY_SERVICE_H_
