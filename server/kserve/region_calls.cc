#include "server/kserve/region_calls.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// A value of an unsigned field for a signed one. Values beyond it stay too large for every check.
int64_t Signed(uint64_t value) {
  return static_cast<int64_t>(std::min(value, uint64_t{std::numeric_limits<int64_t>::max()}));
}

// The regions of a kind, or the one with the name. NOT_FOUND.
absl::StatusOr<std::vector<RegionFacts>> Named(const RegionRegistry* regions, const std::string& tenant,
                                               v1::RegionKind kind, const std::string& name) {
  std::vector<RegionFacts> facts = regions->Facts(tenant, kind);
  if (name.empty()) return facts;
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const RegionFacts& one) { return one.name == name; });
  if (found != facts.end()) return std::vector<RegionFacts>{*found};
  return FieldError(v1::ERROR_REASON_REGION_NOT_FOUND, "name",
                    absl::StrCat("no region is registered under the name '", name, "'"));
}

}  // namespace

absl::StatusOr<inference::SystemSharedMemoryRegisterResponse> RegisterRegion(
    RegionRegistry* regions, const std::string& tenant, const inference::SystemSharedMemoryRegisterRequest& request,
    const RegionRegistry::Wanted& wanted) {
  v1::RegisterSharedMemoryRequest registered;
  registered.set_name(request.name());
  registered.set_key(request.key());
  registered.set_offset_bytes(Signed(request.offset()));
  registered.set_size_bytes(Signed(request.byte_size()));
  CORANK_RETURN_IF_ERROR(regions->Register(tenant, registered, wanted).status());
  return inference::SystemSharedMemoryRegisterResponse();
}

absl::StatusOr<inference::CudaSharedMemoryRegisterResponse> RegisterRegion(
    RegionRegistry* regions, const std::string& tenant, const v1::GetServerInfoResponse& info,
    const inference::CudaSharedMemoryRegisterRequest& request, const RegionRegistry::Wanted& wanted) {
  v1::RegisterCudaIpcRequest registered;
  registered.set_name(request.name());
  registered.set_handle(request.raw_handle());
  registered.set_size_bytes(Signed(request.byte_size()));
  for (const v1::Device& device : info.devices()) {
    if (device.ordinal() == request.device_id()) registered.set_device_uuid(device.uuid());
  }
  CORANK_RETURN_IF_ERROR(regions->Register(tenant, registered, wanted).status());
  return inference::CudaSharedMemoryRegisterResponse();
}

absl::StatusOr<inference::SystemSharedMemoryStatusResponse> DescribeRegions(
    const RegionRegistry* regions, const std::string& tenant,
    const inference::SystemSharedMemoryStatusRequest& request) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RegionFacts> named,
                          Named(regions, tenant, v1::REGION_KIND_SHARED_MEMORY, request.name()));
  inference::SystemSharedMemoryStatusResponse response;
  for (const RegionFacts& facts : named) {
    auto& region = (*response.mutable_regions())[facts.name];
    region.set_name(facts.name);
    region.set_key(facts.key);
    region.set_offset(static_cast<uint64_t>(facts.offset_bytes));
    region.set_byte_size(static_cast<uint64_t>(facts.size_bytes));
  }
  return response;
}

absl::StatusOr<inference::CudaSharedMemoryStatusResponse> DescribeRegions(
    const RegionRegistry* regions, const std::string& tenant, const v1::GetServerInfoResponse& info,
    const inference::CudaSharedMemoryStatusRequest& request) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RegionFacts> named,
                          Named(regions, tenant, v1::REGION_KIND_CUDA_IPC, request.name()));
  inference::CudaSharedMemoryStatusResponse response;
  for (const RegionFacts& facts : named) {
    auto& region = (*response.mutable_regions())[facts.name];
    region.set_name(facts.name);
    region.set_device_id(static_cast<uint64_t>(info.devices(facts.device).ordinal()));
    region.set_byte_size(static_cast<uint64_t>(facts.size_bytes));
  }
  return response;
}

absl::Status UnregisterRegions(RegionRegistry* regions, const std::string& tenant, v1::RegionKind kind,
                               const std::string& name) {
  for (const RegionFacts& facts : regions->Facts(tenant, kind)) {
    if (!name.empty() && facts.name != name) continue;
    const absl::Status status = regions->Unregister(tenant, facts.name);
    if (!status.ok() && !absl::IsNotFound(status)) return status;  // not found: another call was first
  }
  return absl::OkStatus();
}

}  // namespace corank
