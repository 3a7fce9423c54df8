#include "server/kserve/inference_service.h"

#include <optional>
#include <string>
#include <utility>

#include "inference/grpc_service.pb.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/kserve/infer_call.h"
#include "server/kserve/infer_stream.h"
#include "server/kserve/model_statistics.h"
#include "server/kserve/models.h"
#include "server/kserve/region_calls.h"
#include "server/rpc/credentials.h"
#include "server/rpc/early_refusal.h"
#include "server/rpc/small_message.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr char kService[] = "inference.GRPCInferenceService";

class UnaryInfer final : public InferCall<UnaryCall> {
 public:
  UnaryInfer(ModelStatisticsTable* statistics, const CallEnvironment* environment, std::shared_ptr<wire::Call> call)
      : InferCall(statistics, environment, std::move(call), std::nullopt, inference::ModelInferRequest::descriptor(),
                  inference::ModelInferRequest::kRawInputContentsFieldNumber) {}
};

class InferenceServiceImpl final : public InferenceService {
 public:
  InferenceServiceImpl(const CallEnvironment& calls, const MemoryEnvironment& memory, const HealthBoard* health,
                       v1::GetServerInfoResponse info)
      : calls_(calls), memory_(memory), health_(health), info_(std::move(info)) {}

  void AddTo(Methods* methods) override {
    AddServer(methods);
    AddModels(methods);
    AddSharedMemory(methods);
    AddCudaMemory(methods);
    methods->Add(kService, "ModelInfer", [this](const std::shared_ptr<wire::Call>& call) {
      // The message tells the operator.
      if (std::shared_ptr<wire::Handler> refused = RefuseIfLate(*call, std::nullopt, calls_.metrics)) return refused;
      return BeginUnary<UnaryInfer>(&statistics_, &calls_, call);
    });
    methods->Add(kService, "ModelStreamInfer", [this](const std::shared_ptr<wire::Call>& call) {
      return StartInferStream(&calls_, call, &statistics_);
    });
  }

 private:
  void AddServer(Methods* methods) {
    AnswerAnybody(methods, "ServerLive", [] {
      inference::ServerLiveResponse live;
      live.set_live(true);
      return live;
    });
    AnswerAnybody(methods, "ServerReady", [this] {
      inference::ServerReadyResponse ready;
      ready.set_ready(IsReady());
      return ready;
    });
    Answer<inference::ServerMetadataRequest>(
        methods, "ServerMetadata", "server_metadata",
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

  void AddModels(Methods* methods) {
    Answer<inference::ModelReadyRequest>(
        methods, "ModelReady", "model_ready",
        [this](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelReadyResponse> {
          CORANK_RETURN_IF_ERROR(FindModel(message.name(), message.version(), "name").status());
          inference::ModelReadyResponse ready;
          ready.set_ready(IsReady());
          return ready;
        });
    Answer<inference::ModelMetadataRequest>(
        methods, "ModelMetadata", "model_metadata",
        [](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelMetadataResponse> {
          CORANK_ASSIGN_OR_RETURN(const Model* const model, FindModel(message.name(), message.version(), "name"));
          return MetadataOf(*model);
        });
    Answer<inference::ModelConfigRequest>(
        methods, "ModelConfig", "model_config",
        [](const Caller&, const auto& message) -> absl::StatusOr<inference::ModelConfigResponse> {
          CORANK_ASSIGN_OR_RETURN(const Model* const model, FindModel(message.name(), message.version(), "name"));
          inference::ModelConfigResponse config;
          *config.mutable_config() = ConfigOf(*model);
          return config;
        });
    Answer<inference::ModelStatisticsRequest>(
        methods, "ModelStatistics", "model_statistics",
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
    Answer<inference::RepositoryIndexRequest>(
        methods, "RepositoryIndex", "repository_index",
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

  void AddSharedMemory(Methods* methods) {
    Answer<inference::SystemSharedMemoryStatusRequest>(
        methods, "SystemSharedMemoryStatus", "list_regions", [this](const Caller& caller, const auto& message) {
          return DescribeRegions(memory_.places.regions, caller.tenant, message);
        });
    AddUnary<inference::SystemSharedMemoryRegisterRequest>(
        methods, kService, "SystemSharedMemoryRegister", "register_shared_memory", memory_,
        [this](const wire::CallHead& call) { return MayRegister(memory_, call, CheckSharedMemory); },
        [this](const Caller& caller, const auto& message,
               const RegionRegistry::Wanted& wanted) -> absl::StatusOr<inference::SystemSharedMemoryRegisterResponse> {
          return RegisterRegion(memory_.places.regions, caller.tenant, message, wanted);
        });
    Answer<inference::SystemSharedMemoryUnregisterRequest>(
        methods, "SystemSharedMemoryUnregister", "unregister_region",
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::SystemSharedMemoryUnregisterResponse> {
          CORANK_RETURN_IF_ERROR(
              UnregisterRegions(memory_.places.regions, caller.tenant, v1::REGION_KIND_SHARED_MEMORY, message.name()));
          return inference::SystemSharedMemoryUnregisterResponse();
        });
  }

  void AddCudaMemory(Methods* methods) {
    Answer<inference::CudaSharedMemoryStatusRequest>(
        methods, "CudaSharedMemoryStatus", "list_regions", [this](const Caller& caller, const auto& message) {
          return DescribeRegions(memory_.places.regions, caller.tenant, info_, message);
        });
    AddUnary<inference::CudaSharedMemoryRegisterRequest>(
        methods, kService, "CudaSharedMemoryRegister", "register_cuda_ipc", memory_,
        [this](const wire::CallHead& call) { return MayRegister(memory_, call, CheckCudaIpc); },
        [this](const Caller& caller, const auto& message,
               const RegionRegistry::Wanted& wanted) -> absl::StatusOr<inference::CudaSharedMemoryRegisterResponse> {
          return RegisterRegion(memory_.places.regions, caller.tenant, info_, message, wanted);
        });
    Answer<inference::CudaSharedMemoryUnregisterRequest>(
        methods, "CudaSharedMemoryUnregister", "unregister_region",
        [this](const Caller& caller,
               const auto& message) -> absl::StatusOr<inference::CudaSharedMemoryUnregisterResponse> {
          CORANK_RETURN_IF_ERROR(
              UnregisterRegions(memory_.places.regions, caller.tenant, v1::REGION_KIND_CUDA_IPC, message.name()));
          return inference::CudaSharedMemoryUnregisterResponse();
        });
  }

  bool IsReady() const { return health_->Get("ready") == grpc::health::v1::HealthCheckResponse::SERVING; }

  template <typename Work>
  static void AnswerAnybody(Methods* methods, absl::string_view method, const Work& work) {
    methods->Add(kService, method, [work](const std::shared_ptr<wire::Call>& call) {
      return AnswerSmall(call, absl::OkStatus(), [work, call](const absl::StatusOr<std::string>& message) {
        if (!message.ok()) return call->Finish(ToCallStatus(message.status(), ""));
        call->Finish({}, {}, SmallBytes(work()));
      });
    });
  }

  // Adds a method for any caller (AddUnary).
  template <typename Request, typename Work>
  void Answer(Methods* methods, absl::string_view method, absl::string_view operation, const Work& work) const {
    const auto anybody = [this](const wire::CallHead& call) { return CallerOf(memory_.authenticator, call); };
    AddUnary<Request>(methods, kService, method, operation, memory_, anybody, work);
  }

  const CallEnvironment calls_;
  const MemoryEnvironment memory_;
  const HealthBoard* const health_;
  const v1::GetServerInfoResponse info_;
  ModelStatisticsTable statistics_;
};

}  // namespace

std::unique_ptr<InferenceService> MakeInferenceService(const CallEnvironment& calls, const MemoryEnvironment& memory,
                                                       const HealthBoard* health,
                                                       const v1::GetServerInfoResponse& info) {
  return std::make_unique<InferenceServiceImpl>(calls, memory, health, info);
}

}  // namespace corank
