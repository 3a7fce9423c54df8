#include "kernels/cuda/cuda_engine.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/cuda/columns/column_sort.h"
#include "kernels/cuda/columns/search_rows.h"
#include "kernels/cuda/engine/cuda_memory.h"
#include "kernels/cuda/engine/cuda_status.h"
#include "kernels/cuda/engine/cuda_stream.h"
#include "kernels/cuda/engine/probe.h"
#include "kernels/cuda/engine/relay_memory.h"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/join/join.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/search/search.h"
#include "kernels/cuda/select/select.h"
#include "kernels/cuda/sets/sets.h"
#include "kernels/cuda/sort/sort.h"
#include "kernels/engine/numa.h"

namespace corank {
namespace {

// Freed device memory that the driver's pool keeps for all streams before it returns memory to the system.
constexpr uint64_t kPoolKeepBytes = uint64_t{4} << 30;

// Memory that all streams keep between requests, and device memory that one of them does. A server has dozens.
constexpr int64_t kKeptShare = 16;
constexpr int64_t kMostStreamKeepBytes = int64_t{2} << 30;
constexpr int64_t kStreamShare = 64;

class CudaEngine final : public Engine {
 public:
  CudaEngine(int device, EngineInfo info)
      : device_(device),
        info_(std::move(info)),
        kept_{Budget::Create(info_.memory_bytes / kKeptShare), Budget::Create(info_.memory_bytes / kKeptShare),
              std::make_shared<cuda::RelayMemory>(cuda::PinnedMemory(device, info_.numa_node))} {}

  const EngineInfo& info() const override { return info_; }
  void LimitKept(const KeptMemory& most) override {
    kept_.device->set_limit(most.device_bytes);
    kept_.host->set_limit(most.host_bytes);
  }
  // So that no request waits for the memory of copies to GPUs without a link.
  absl::Status PrepareRelays() { return kept_.relays->Prepare(); }
  KeptMemory kept() const override { return {kept_.device->used(), kept_.host->used()}; }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    const int64_t keep = std::min(kMostStreamKeepBytes, info_.memory_bytes / kStreamShare);
    return cuda::CudaStream::Create(device_, info_.numa_node, keep, kept_);
  }

  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return cuda::AllocateHostMemory(device_, bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return cuda::AllocateDeviceMemory(device_, bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return cuda::PinHostMemory(device_, h_bytes, bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    return cuda::OpenIpcMemory(device_, handle, offset_bytes, size_bytes);
  }

  int64_t WorkspaceBytes(const SortArgs& args) const override { return OnDevice(cuda::SortWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const ColumnSortArgs& args) const override {
    return OnDevice(cuda::ColumnSortWorkspaceBytes, args);
  }
  int64_t WorkspaceBytes(const MergeArgs& args) const override { return OnDevice(cuda::MergeWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const ExpandArgs& args) const override { return OnDevice(cuda::ExpandWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const MoveArgs& args) const override { return OnDevice(cuda::MoveWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const LoadBalanceArgs& args) const override {
    return OnDevice(cuda::LoadBalanceWorkspaceBytes, args);
  }
  int64_t WorkspaceBytes(const SearchArgs& args) const override { return OnDevice(cuda::SearchWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const ColumnSearchArgs& args) const override {
    return OnDevice(cuda::ColumnSearchWorkspaceBytes, args);
  }
  int64_t WorkspaceBytes(const GroupArgs& args) const override { return OnDevice(cuda::GroupWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const SelectArgs& args) const override { return OnDevice(cuda::SelectWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const SetArgs& args) const override { return OnDevice(cuda::CombineSetsWorkspaceBytes, args); }
  int64_t WorkspaceBytes(const JoinArgs& args) const override { return OnDevice(cuda::JoinWorkspaceBytes, args); }

 private:
  // Some sizes depend on the GPU. The caller may be any thread.
  template <typename Args>
  int64_t OnDevice(int64_t (*workspace_bytes)(const Args&), const Args& args) const {
    // The next launch of the thread would take the error for its own.
    if (cudaSetDevice(device_) != cudaSuccess) static_cast<void>(cudaGetLastError());
    return workspace_bytes(args);
  }

  const int device_;
  const EngineInfo info_;
  const cuda::CudaStream::Kept kept_;
};

// In the format of `nvidia-smi -L`.
std::string UuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppend(&text, absl::Hex(static_cast<uint8_t>(uuid.bytes[i]), absl::kZeroPad2));
  }
  return text;
}

std::string CudaVersion(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

// The number of GPUs, or an error that explains why none is usable.
absl::StatusOr<int> CountDevices() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    cudaGetLastError();
    return absl::FailedPreconditionError("no NVIDIA driver is installed");
  }
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorInsufficientDriver || driver / 1000 < CUDART_VERSION / 1000) {
    cudaGetLastError();
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver is too old: it supports CUDA ",
                                                      CudaVersion(driver), ", this build needs CUDA ",
                                                      CudaVersion(CUDART_VERSION)));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    cudaGetLastError();
    return absl::FailedPreconditionError("the NVIDIA driver sees no GPU");
  }
  if (error != cudaSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat("the NVIDIA driver does not work: ", cuda::ToStatus(error, "count GPUs").message()));
  }
  return devices;
}

// For the whole process, before the first use of CUDA.
void SetUpRuntime() {
  // Loads all kernels at start. By default, the first request that needs a kernel loads it and waits 0.6 ms. The
  // operator's own setting wins.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
}

// Copies between two devices use their link if they have one, and otherwise the host. Memory pools need explicit access
// to each other. linked: EngineInfo::linked.
absl::Status OpenToPeers(const CudaEngineOptions& options, cudaMemPool_t pool, uint64_t* linked) {
  const int device = options.device;
  *linked = uint64_t{1} << device;
  for (const int peer : options.peers) {
    int can_access = 0;
    if (peer == device || !options.peer_access) continue;
    CORANK_RETURN_IF_CUDA_FAILED(cudaDeviceCanAccessPeer(&can_access, peer, device), "look for a link between GPUs");
    if (can_access == 0) continue;
    cudaMemAccessDesc access = {};
    access.location = {cudaMemLocationTypeDevice, peer};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    CORANK_RETURN_IF_CUDA_FAILED(cudaMemPoolSetAccess(pool, &access, 1), "open the memory pool to another GPU");
    *linked |= uint64_t{1} << peer;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> CountCudaDevices() {
  SetUpRuntime();
  return CountDevices();
}

absl::StatusOr<std::unique_ptr<Engine>> CreateCudaEngine(const CudaEngineOptions& options) {
  const absl::StatusOr<int> devices = CountCudaDevices();
  if (!devices.ok()) return devices.status();
  if (options.device < 0 || options.device >= *devices) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no GPU ", options.device, ": the NVIDIA driver sees ", *devices, ", counted from 0"));
  }
  cudaDeviceProp properties;
  CORANK_RETURN_IF_CUDA_FAILED(cudaGetDeviceProperties(&properties, options.device), "read the GPU's properties");
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(options.device), "set device");
  if (const cudaError_t error = cuda::ProbeKernelImage(); error != cudaSuccess) {
    return absl::FailedPreconditionError(absl::StrCat("this build has no kernels for ", properties.name,
                                                      " (compute capability ", properties.major, ".", properties.minor,
                                                      "): ", cuda::ToStatus(error, "load kernels").message()));
  }
  cudaMemPool_t pool = nullptr;
  CORANK_RETURN_IF_CUDA_FAILED(cudaDeviceGetDefaultMemPool(&pool, options.device), "get the memory pool");
  uint64_t keep = kPoolKeepBytes;
  CORANK_RETURN_IF_CUDA_FAILED(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                               "set up the memory pool");
  EngineInfo info;
  info.ordinal = options.device;
  absl::Status opened = OpenToPeers(options, pool, &info.linked);
  if (!opened.ok()) return opened;
  info.kind = EngineKind::kCuda;
  info.device = properties.name;
  info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  info.parallelism = properties.multiProcessorCount;
  info.device_uuid = UuidText(properties.uuid);
  info.numa_node = NumaNodeOf(
      absl::StrFormat("%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID));
  const auto is_far = [&info](int peer) { return ((info.linked >> peer) & 1U) == 0; };
  const bool relays = std::any_of(options.peers.begin(), options.peers.end(), is_far);
  if (relays) info.relay_bytes = cuda::RelayMemory::kKeptBytes;
  auto engine = std::make_unique<CudaEngine>(options.device, std::move(info));
  const absl::Status prepared = relays ? engine->PrepareRelays() : absl::OkStatus();
  if (!prepared.ok()) return prepared;
  return engine;
}

}  // namespace corank
