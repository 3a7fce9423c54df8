#include "bench/service/ipc_rows.h"

#include <cuda_runtime_api.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/harness/statistics.h"
#include "bench/kernels/device_memory.h"
#include "bench/service/closed_loop.h"
#include "bench/service/keys.h"
#include "bench/service/stages.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace corank::bench {
namespace {

constexpr char kRegion[] = "service-bench";
constexpr double kGoalExtraUs = 150;
constexpr int64_t kFewKeys = 256;
constexpr int kSmallCalls = 50;  // calls of each kind a round
constexpr int kIdleCalls = 20;   // the same, each after a pause as long as a large sort
constexpr absl::Duration kIdle = absl::Milliseconds(5);
constexpr int kWarmUpCalls = 20;  // each of the server's lanes allocates its memory at its first call
constexpr double kRoundShare = 0.125;

// Keys, and room for the sorted keys, registered with the server.
class IpcArrays {
 public:
  explicit IpcArrays(const std::string& address)
      : channel_(Connect(address, 1)[0]),
        service_(v1::CorankService::NewStub(channel_)),
        memory_service_(v1::MemoryService::NewStub(channel_)),
        health_(grpc::health::v1::Health::NewStub(channel_)) {}
  ~IpcArrays() {
    if (!is_registered_) return;
    grpc::ClientContext context;
    v1::UnregisterRegionRequest request;
    request.set_name(kRegion);
    v1::UnregisterRegionResponse response;
    memory_service_->UnregisterRegion(&context, request, &response);
  }

  absl::Status Create(const std::vector<uint32_t>& keys) {
    bytes_ = static_cast<int64_t>(keys.size() * sizeof(uint32_t));
    v1::GetServerInfoResponse info;
    grpc::ClientContext context;
    absl::Status status = FromGrpc(service_->GetServerInfo(&context, {}, &info));
    if (!status.ok()) return status;
    // The server is a child of this process: both see the same devices.
    status = ToStatus(cudaSetDevice(info.devices(0).ordinal()), "cudaSetDevice");
    if (!status.ok()) return status;
    absl::StatusOr<Memory> memory = Memory::Create(2 * bytes_);
    if (!memory.ok()) return memory.status();
    memory_ = *std::move(memory);
    status = ToStatus(cudaMemcpy(memory_.get(), keys.data(), keys.size() * sizeof(uint32_t), cudaMemcpyHostToDevice),
                      "copying keys");
    return status.ok() ? Register(info.device_uuid()) : status;
  }

  /// Sorts the first `count` keys and returns the microseconds of the call.
  absl::StatusOr<double> Sort(int64_t count, v1::RequestStats* stats) {
    v1::SortRequest request;
    v1::Array& keys = *request.mutable_keys();
    keys.set_type(v1::ELEMENT_TYPE_UINT32);
    keys.set_count(count);
    keys.mutable_cuda_ipc()->set_region(kRegion);
    v1::RegionPlace& sorted = *request.mutable_keys_destination()->mutable_cuda_ipc();
    sorted.set_region(kRegion);
    sorted.set_offset_bytes(bytes_);
    v1::SortResponse response;
    absl::StatusOr<double> took = Time([&](grpc::ClientContext* context) {
      return service_->Sort(context, request, &response);  //
    });
    *stats = response.stats();
    return took;
  }

  /// A call that does nothing.
  absl::StatusOr<double> Empty() {
    return Time([&](grpc::ClientContext* context) {
      grpc::health::v1::HealthCheckResponse response;
      return health_->Check(context, {}, &response);
    });
  }

  absl::StatusOr<std::vector<uint32_t>> Sorted() const {
    std::vector<uint32_t> sorted(static_cast<size_t>(bytes_) / sizeof(uint32_t));
    const absl::Status status = ToStatus(
        cudaMemcpy(sorted.data(), memory_.as<char>() + bytes_, static_cast<size_t>(bytes_), cudaMemcpyDeviceToHost),
        "copying results");
    if (!status.ok()) return status;
    return sorted;
  }

 private:
  absl::Status Register(const std::string& device_uuid) {
    cudaIpcMemHandle_t handle;
    const absl::Status status = ToStatus(cudaIpcGetMemHandle(&handle, memory_.get()), "cudaIpcGetMemHandle");
    if (!status.ok()) return status;
    grpc::ClientContext context;
    v1::RegisterCudaIpcRequest request;
    request.set_name(kRegion);
    request.set_handle(&handle, sizeof(handle));
    request.set_size_bytes(2 * bytes_);
    request.set_device_uuid(device_uuid);
    v1::RegisterCudaIpcResponse response;
    const grpc::Status registered = memory_service_->RegisterCudaIpc(&context, request, &response);
    is_registered_ = registered.ok();
    return FromGrpc(registered);
  }

  static absl::StatusOr<double> Time(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
    grpc::ClientContext context;
    const absl::Time start = absl::Now();
    const grpc::Status status = call(&context);
    const absl::Duration took = absl::Now() - start;
    if (!status.ok()) return FromGrpc(status);
    return absl::ToDoubleMicroseconds(took);
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CorankService::Stub> service_;
  std::unique_ptr<v1::MemoryService::Stub> memory_service_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
  Memory memory_;
  int64_t bytes_ = 0;  // of one array
  bool is_registered_ = false;
};

struct Samples {
  std::vector<double> p50_us, kernel_p50_us;  // one a round
  std::vector<double> few_us, empty_us;
  std::vector<double> few_after_idle_us, empty_after_idle_us;  // with the time to wake threads
  std::vector<StageTimes> stages;
};

absl::Status MeasureRound(int64_t keys, absl::Duration length, IpcArrays* arrays, Samples* samples) {
  std::vector<double> latency_us, kernel_us;
  v1::RequestStats stats;
  for (const absl::Time start = absl::Now(); absl::Now() - start < length;) {
    const absl::StatusOr<double> took = arrays->Sort(keys, &stats);
    if (!took.ok()) return took.status();
    latency_us.push_back(*took);
    kernel_us.push_back(static_cast<double>(stats.kernel_ns()) * 1e-3);
    samples->stages.push_back(ReadStages(stats).value_or(StageTimes()));
  }
  samples->p50_us.push_back(Quantile(std::move(latency_us), 0.5));
  samples->kernel_p50_us.push_back(Quantile(std::move(kernel_us), 0.5));
  const auto small = [&](absl::Duration pause, std::vector<double>* few_us, std::vector<double>* empty_us) {
    absl::SleepFor(pause);
    const absl::StatusOr<double> few = arrays->Sort(std::min(keys, kFewKeys), &stats);
    if (!few.ok()) return few.status();
    few_us->push_back(*few);
    absl::SleepFor(pause);
    const absl::StatusOr<double> empty = arrays->Empty();
    if (!empty.ok()) return empty.status();
    empty_us->push_back(*empty);
    return absl::OkStatus();
  };
  absl::Status status;
  for (int i = 0; i < kSmallCalls && status.ok(); ++i) {
    status = small(absl::ZeroDuration(), &samples->few_us, &samples->empty_us);
  }
  for (int i = 0; i < kIdleCalls && status.ok(); ++i) {
    status = small(kIdle, &samples->few_after_idle_us, &samples->empty_after_idle_us);
  }
  return status;
}

}  // namespace

absl::StatusOr<Row> MeasureIpcSort(const std::string& name, int64_t keys, const LoadOptions& options) {
  IpcArrays arrays(options.corankd);
  {
    const std::vector<uint32_t> input = UniformKeys(keys);
    absl::Status status = arrays.Create(input);
    v1::RequestStats ignored;
    for (int i = 0; status.ok() && i < kWarmUpCalls; ++i) status = arrays.Sort(keys, &ignored).status();
    if (!status.ok()) return status;
    const absl::StatusOr<std::vector<uint32_t>> sorted = arrays.Sorted();
    if (!sorted.ok()) return sorted.status();
    if (*sorted != SortedOnAllCores(input)) return absl::InternalError("corankd: wrong answer");
  }
  Samples samples;
  for (int round = 0; round < options.rounds; ++round) {
    const absl::Status status = MeasureRound(keys, options.round * kRoundShare, &arrays, &samples);
    if (!status.ok()) return status;
  }
  Row row;
  row.row = name;
  row.type = "u32";
  row.n = keys;
  row.distribution = "uniform";
  row.reference_name = "its kernels";
  row.better = Better::kLower;
  row.unit = "us p50";
  row.ours = Summarize(samples.p50_us);
  row.reference = Summarize(samples.kernel_p50_us);
  row.checked = true;
  row.RequireExtra(kGoalExtraUs, "kernels");
  row.details["calls"] = static_cast<double>(samples.stages.size());
  row.details["call_with_256_keys_us"] = Quantile(samples.few_us, 0.5);
  row.details["call_with_256_keys_after_idle_us"] = Quantile(samples.few_after_idle_us, 0.5);
  row.details["empty_call_us"] = Quantile(samples.empty_us, 0.5);
  row.details["empty_call_after_idle_us"] = Quantile(samples.empty_after_idle_us, 0.5);
  DescribeStages(samples.stages, kMicroseconds, &row);
  return row;
}

}  // namespace corank::bench
