// Registered memory in the words of the Open Inference Protocol.
#ifndef CORANK_SERVER_KSERVE_REGION_CALLS_H_
#define CORANK_SERVER_KSERVE_REGION_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/corank_service.pb.h"
#include "inference/grpc_service.pb.h"
#include "server/memory/region_registry.h"

namespace corank {

// Each answers one call for a tenant, with the registry's errors. `info` names the devices.

absl::StatusOr<inference::SystemSharedMemoryRegisterResponse> RegisterRegion(
    RegionRegistry* regions, const std::string& tenant, const inference::SystemSharedMemoryRegisterRequest& request,
    const RegionRegistry::Wanted& wanted);
absl::StatusOr<inference::CudaSharedMemoryRegisterResponse> RegisterRegion(
    RegionRegistry* regions, const std::string& tenant, const v1::GetServerInfoResponse& info,
    const inference::CudaSharedMemoryRegisterRequest& request, const RegionRegistry::Wanted& wanted);

/// NOT_FOUND if a region is named that does not exist.
absl::StatusOr<inference::SystemSharedMemoryStatusResponse> DescribeRegions(
    const RegionRegistry* regions, const std::string& tenant,
    const inference::SystemSharedMemoryStatusRequest& request);
absl::StatusOr<inference::CudaSharedMemoryStatusResponse> DescribeRegions(
    const RegionRegistry* regions, const std::string& tenant, const v1::GetServerInfoResponse& info,
    const inference::CudaSharedMemoryStatusRequest& request);

/// Unregisters the region, or all regions of the kind if `name` is empty. OK if there is no such region, because
/// programs clean up before they register.
absl::Status UnregisterRegions(RegionRegistry* regions, const std::string& tenant, v1::RegionKind kind,
                               const std::string& name);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_REGION_CALLS_H_
