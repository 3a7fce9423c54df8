#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

struct IsBelow {
  uint32_t threshold;
  __host__ __device__ bool operator()(uint32_t element) const { return element < threshold; }
};

}  // namespace

cudaError_t CubSelect(const SelectReference& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  if (args.flags != nullptr) {
    return cub::DeviceSelect::Flagged(d_workspace, *workspace_bytes, args.elements, args.flags, args.out,
                                      args.count_out, args.count, stream);
  }
  return cub::DeviceSelect::If(d_workspace, *workspace_bytes, args.elements, args.out, args.count_out, args.count,
                               IsBelow{args.threshold}, stream);
}

cudaError_t CubPartition(const SelectReference& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  const int count = static_cast<int>(args.count);
  if (args.flags != nullptr) {
    return cub::DevicePartition::Flagged(d_workspace, *workspace_bytes, args.elements, args.flags, args.out,
                                         args.count_out, count, stream);
  }
  return cub::DevicePartition::If(d_workspace, *workspace_bytes, args.elements, args.out, args.count_out, count,
                                  IsBelow{args.threshold}, stream);
}

}  // namespace corank::bench
