// corank.v1.MemoryService: registered regions and stored arrays.
#ifndef CORANK_SERVER_RPC_MEMORY_SERVICE_H_
#define CORANK_SERVER_RPC_MEMORY_SERVICE_H_

#include "absl/time/time.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/gate.h"
#include "server/plan/request_places.h"
#include "server/security/authenticator.h"
#include "server/security/caller.h"

namespace corank {

/// All messages arrive and leave as bytes: no payload passes through protobuf, and nothing is parsed before the caller
/// is authenticated.
using MemoryServiceBase = v1::MemoryService::WithRawCallbackMethod_StoreArray<
    v1::MemoryService::WithRawCallbackMethod_FetchArray<v1::MemoryService::WithRawCallbackMethod_RegisterSharedMemory<
        v1::MemoryService::WithRawCallbackMethod_RegisterCudaIpc<
            v1::MemoryService::WithRawCallbackMethod_OpenLease<v1::MemoryService::WithRawCallbackMethod_ListRegions<
                v1::MemoryService::WithRawCallbackMethod_UnregisterRegion<
                    v1::MemoryService::WithRawCallbackMethod_ListArrays<
                        v1::MemoryService::WithRawCallbackMethod_DeleteArray<v1::MemoryService::Service>>>>>>>>>;

/// Objects and limits that the calls of the service share. The pointees outlive all calls.
struct MemoryEnvironment {
  SharedPlaces places;
  const Logger* logger = nullptr;
  int64_t max_chunk_bytes = 0;
  /// Counts StoreArray and FetchArray, which a draining server finishes. Leases do not count.
  ActiveCalls* active_calls = nullptr;
  /// When closed, nothing more is registered, stored or fetched; existing arrays and regions can still be listed and
  /// released.
  const Gate* gate = nullptr;
  Metrics* metrics = nullptr;
  /// Null: calls are anonymous.
  const Authenticator* authenticator = nullptr;
  /// How long StoreArray and FetchArray wait for a caller that neither sends nor reads.
  absl::Duration idle_timeout = absl::Minutes(1);
};

/// The caller, or the reason for refusing it.
using FoundCaller = absl::StatusOr<std::shared_ptr<const Caller>>;

/// Ends a call of the service: counts it as `operation` and puts a request id, under which the log describes a fault,
/// into the trailing metadata.
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
  // Ends a unary call with the answer of `work`, a StatusOr of the response, given its tenant and Request. Does not
  // call `work` if the caller is not allowed or the message is invalid.
  template <typename Request, typename Work>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, absl::string_view operation,
                                   const FoundCaller& caller, const grpc::ByteBuffer& request,
                                   grpc::ByteBuffer* response, const Work& work) const;
  absl::Status CheckStoreIsOn() const;
  // The caller; an error if it lacks the permission or the gate is closed.
  FoundCaller MayRegister(const grpc::CallbackServerContext& context, absl::Status (*permission)(const Caller&)) const;
  // The caller; an error if it may not use stored arrays or they are off.
  FoundCaller MayUseStore(const grpc::CallbackServerContext& context) const;
  FoundCaller MayMove(const grpc::CallbackServerContext& context) const;  // also checks that new transfers are taken

  const MemoryEnvironment environment_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_MEMORY_SERVICE_H_
