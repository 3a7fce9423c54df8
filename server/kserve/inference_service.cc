#include "server/kserve/inference_service.h"

#include <string>
#include <utility>

#include "inference/grpc_service.grpc.pb.h"
#include "server/base/status_macros.h"
#include "server/kserve/infer_call.h"
#include "server/kserve/infer_stream.h"
#include "server/kserve/model_statistics.h"
#include "server/kserve/models.h"
#include "server/kserve/region_calls.h"
#include "server/rpc/credentials.h"
#include "server/rpc/small_message.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using inference::GRPCInferenceService;

// All messages are bytes, as in CorankServiceBase.
template <typename Base>
using WithShared = GRPCInferenceService::WithRawCallbackMethod_SystemSharedMemoryStatus<
    GRPCInferenceService::WithRawCallbackMethod_SystemSharedMemoryRegister<
        GRPCInferenceService::WithRawCallbackMethod_SystemSharedMemoryUnregister<
            GRPCInferenceService::WithRawCallbackMethod_CudaSharedMemoryStatus<
                GRPCInferenceService::WithRawCallbackMethod_CudaSharedMemoryRegister<
                    GRPCInferenceService::WithRawCallbackMethod_CudaSharedMemoryUnregister<Base>>>>>>;
template <typename Base>
using WithModels = GRPCInferenceService::WithRawCallbackMethod_ModelReady<
    GRPCInferenceService::WithRawCallbackMethod_ModelMetadata<GRPCInferenceService::WithRawCallbackMethod_ModelConfig<
        GRPCInferenceService::WithRawCallbackMethod_ModelStatistics<
            GRPCInferenceService::WithRawCallbackMethod_RepositoryIndex<Base>>>>>;
using ServiceBase = WithShared<WithModels<
    GRPCInferenceService::WithRawCallbackMethod_ModelInfer<GRPCInferenceService::WithRawCallbackMethod_ModelStreamInfer<
        GRPCInferenceService::WithRawCallbackMethod_ServerLive<GRPCInferenceService::WithRawCallbackMethod_ServerReady<
            GRPCInferenceService::WithRawCallbackMethod_ServerMetadata<GRPCInferenceService::Service>>>>>>>;

class UnaryInfer final : public InferCall<UnaryCall> {
 public:
  using InferCall::InferCall;
};

class InferenceService final : public ServiceBase {
 public:
  InferenceService(const CallEnvironment& calls, const MemoryEnvironment& memory, const HealthBoard* health,
                   v1::GetServerInfoResponse info)
      : calls_(calls), memory_(memory), health_(health), info_(std::move(info)) {}

  ServerUnaryReactor* ServerLive(CallbackServerContext* context, const ByteBuffer*, ByteBuffer* response) override {
    inference::ServerLiveResponse live;
    live.set_live(true);
    return AnswerAnybody(context, live, response);
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* context, const ByteBuffer*, ByteBuffer* response) override {
    inference::ServerReadyResponse ready;
    ready.set_ready(IsReady());
    return AnswerAnybody(context, ready, response);
  }

  ServerUnaryReactor* ServerMetadata(CallbackServerContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) override {
    return Answer<inference::ServerMetadataRequest>(
        context, "server_metadata", request, response,
        [this](const Caller&, const auto&) -> absl::StatusOr<inference::ServerMetadataResponse> {
          inference::ServerMetadataResponse metadata;
          metadata.set_name("corank");
          metadata.set_version(info_.version());
          for (const char* extension : {"model_configuration", "statistics", "parameters", "model_repository"}) {
            metadata.add_extensions(extension);
          }
          for (const std::string& place : info_.places()) {
            if (place == "shared_memory") metadata.add_extensions("system_shared_memory");
            if (place == "cuda_ipc") metadata.add_extensions("cuda_shared_memory");
          }
          return metadata;
        });
  }

  ServerUnaryReactor* ModelReady(CallbackServerContext* context, const ByteBuffer* request,
                                 ByteBuffer* response) override {
    return Answer<inference::ModelReadyRequest>(
        context, "model_ready", request, response,
        [this](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelReadyResponse> {
          CORANK_RETURN_IF_ERROR(FindModel(message.name(), message.version(), "name").status());
          inference::ModelReadyResponse ready;
          ready.set_ready(IsReady());
          return ready;
        });
  }

  ServerUnaryReactor* ModelMetadata(CallbackServerContext* context, const ByteBuffer* request,
                                    ByteBuffer* response) override {
    return Answer<inference::ModelMetadataRequest>(
        context, "model_metadata", request, response,
        [](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelMetadataResponse> {
          CORANK_ASSIGN_OR_RETURN(const Model* const model, FindModel(message.name(), message.version(), "name"));
          return MetadataOf(*model);
        });
  }

  ServerUnaryReactor* ModelConfig(CallbackServerContext* context, const ByteBuffer* request,
                                  ByteBuffer* response) override {
    return Answer<inference::ModelConfigRequest>(
        context, "model_config", request, response,
        [](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelConfigResponse> {
          CORANK_ASSIGN_OR_RETURN(const Model* const model, FindModel(message.name(), message.version(), "name"));
          inference::ModelConfigResponse config;
          *config.mutable_config() = ConfigOf(*model);
          return config;
        });
  }

  ServerUnaryReactor* ModelStatistics(CallbackServerContext* context, const ByteBuffer* request,
                                      ByteBuffer* response) override {
    return Answer<inference::ModelStatisticsRequest>(
        context, "model_statistics", request, response,
        [this](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelStatisticsResponse> {
          inference::ModelStatisticsResponse all;
          if (!message.name().empty()) {
            CORANK_ASSIGN_OR_RETURN(const Model* const model, FindModel(message.name(), message.version(), "name"));
            *all.add_model_stats() = statistics_.Describe(*model);
            return all;
          }
          for (const Model& model : Models()) {
            if (statistics_.HasRun(model)) *all.add_model_stats() = statistics_.Describe(model);
          }
          return all;
        });
  }

  ServerUnaryReactor* RepositoryIndex(CallbackServerContext* context, const ByteBuffer* request,
                                      ByteBuffer* response) override {
    return Answer<inference::RepositoryIndexRequest>(
        context, "repository_index", request, response,
        [this](const Caller&, const auto& message) -> absl::StatusOr<inference::RepositoryIndexResponse> {
          inference::RepositoryIndexResponse index;
          const bool is_ready = IsReady();
          if (message.ready() && !is_ready) return index;
          for (const Model& model : Models()) {
            auto* const entry = index.add_models();
            entry->set_name(model.name);
            entry->set_version(kModelVersion);
            entry->set_state(is_ready ? "READY" : "UNAVAILABLE");
          }
          return index;
        });
  }

  ServerUnaryReactor* ModelInfer(CallbackServerContext* context, const ByteBuffer* request,
                                 ByteBuffer* response) override {
    auto* const call = new UnaryInfer(&calls_, context, &statistics_, response);
    call->Start(const_cast<ByteBuffer*>(request));  // as StartCall does
    return call;
  }
  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* ModelStreamInfer(CallbackServerContext* context) override {
    return StartInferStream(&calls_, context, &statistics_);
  }

  ServerUnaryReactor* SystemSharedMemoryStatus(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) override {
    return Answer<inference::SystemSharedMemoryStatusRequest>(
        context, "list_regions", request, response, [this](const Caller& caller, const auto& message) {
          return DescribeRegions(memory_.places.regions, caller.tenant, message);
        });
  }
  ServerUnaryReactor* SystemSharedMemoryRegister(CallbackServerContext* context, const ByteBuffer* request,
                                                 ByteBuffer* response) override {
    return Answer<inference::SystemSharedMemoryRegisterRequest>(
        context, "register_shared_memory", request, response,
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::SystemSharedMemoryRegisterResponse> {
          CORANK_RETURN_IF_ERROR(CheckSharedMemory(caller));
          CORANK_RETURN_IF_ERROR(memory_.gate->Check());
          return RegisterRegion(memory_.places.regions, caller.tenant, message);
        });
  }
  ServerUnaryReactor* SystemSharedMemoryUnregister(CallbackServerContext* context, const ByteBuffer* request,
                                                   ByteBuffer* response) override {
    return Answer<inference::SystemSharedMemoryUnregisterRequest>(
        context, "unregister_region", request, response,
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::SystemSharedMemoryUnregisterResponse> {
          CORANK_RETURN_IF_ERROR(
              UnregisterRegions(memory_.places.regions, caller.tenant, v1::REGION_KIND_SHARED_MEMORY, message.name()));
          return inference::SystemSharedMemoryUnregisterResponse();
        });
  }
  ServerUnaryReactor* CudaSharedMemoryStatus(CallbackServerContext* context, const ByteBuffer* request,
                                             ByteBuffer* response) override {
    return Answer<inference::CudaSharedMemoryStatusRequest>(
        context, "list_regions", request, response, [this](const Caller& caller, const auto& message) {
          return DescribeRegions(memory_.places.regions, caller.tenant, info_, message);
        });
  }
  ServerUnaryReactor* CudaSharedMemoryRegister(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) override {
    return Answer<inference::CudaSharedMemoryRegisterRequest>(
        context, "register_cuda_ipc", request, response,
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::CudaSharedMemoryRegisterResponse> {
          CORANK_RETURN_IF_ERROR(CheckCudaIpc(caller));
          CORANK_RETURN_IF_ERROR(memory_.gate->Check());
          return RegisterRegion(memory_.places.regions, caller.tenant, info_, message);
        });
  }
  ServerUnaryReactor* CudaSharedMemoryUnregister(CallbackServerContext* context, const ByteBuffer* request,
                                                 ByteBuffer* response) override {
    return Answer<inference::CudaSharedMemoryUnregisterRequest>(
        context, "unregister_region", request, response,
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::CudaSharedMemoryUnregisterResponse> {
          CORANK_RETURN_IF_ERROR(
              UnregisterRegions(memory_.places.regions, caller.tenant, v1::REGION_KIND_CUDA_IPC, message.name()));
          return inference::CudaSharedMemoryUnregisterResponse();
        });
  }

 private:
  bool IsReady() const { return health_->Get("ready") == grpc::health::v1::HealthCheckResponse::SERVING; }

  static ServerUnaryReactor* AnswerAnybody(CallbackServerContext* context, const google::protobuf::Message& answer,
                                           ByteBuffer* response) {
    *response = SmallBytes(answer);
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Ends a call with the answer of `work`, a StatusOr of the response, given the caller and the Request.
  template <typename Request, typename Work>
  ServerUnaryReactor* Answer(CallbackServerContext* context, absl::string_view operation, const ByteBuffer* request,
                             ByteBuffer* response, const Work& work) const {
    const FoundCaller caller = CallerOf(memory_.authenticator, *context);
    const auto answer = [&]() -> absl::Status {
      CORANK_RETURN_IF_ERROR(caller.status());
      Request message;
      CORANK_RETURN_IF_ERROR(ParseSmall(*request, &message));
      CORANK_ASSIGN_OR_RETURN(const auto answered, work(**caller, message));
      *response = SmallBytes(answered);
      return absl::OkStatus();
    };
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(EndCall(memory_, context, operation, caller, answer()));
    return reactor;
  }

  const CallEnvironment calls_;
  const MemoryEnvironment memory_;
  const HealthBoard* const health_;
  const v1::GetServerInfoResponse info_;
  ModelStatisticsTable statistics_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeInferenceService(const CallEnvironment& calls, const MemoryEnvironment& memory,
                                                    const HealthBoard* health, const v1::GetServerInfoResponse& info) {
  return std::make_unique<InferenceService>(calls, memory, health, info);
}

}  // namespace corank
