// Segmented sort: sorts every segment by itself, for any lengths, without communication from the device to the host.
//
// Algorithm: four launches for any segments: the plan (segment_plan.cu); all segments and pieces of segments that fit
//            into a block (segment_windows.cuh); the merge of the pieces (segment_long.cuh); the giants, which are not
//            divided into pieces (segment_giants.cuh).
// Work: O(n log longest + segments).
// Memory: one read, one write of keys and payload while segments fit into a block.
// Workspace: one array of keys and payload (another of keys if they are not wanted), one bit for each key, 80 bytes for
//            each window (144 from 2^34 keys on).
// Stability: stable.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_CUH_

#include <cstdint>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/segment_giants.cuh"
#include "kernels/cuda/sort/segment_long.cuh"
#include "kernels/cuda/sort/segment_windows.cuh"

namespace corank::cuda {

/// The number of blocks of a persistent kernel without dynamic shared memory that fit on the current device together.
template <typename Kernel>
cudaError_t ResidentBlocks(Kernel kernel, int threads, unsigned* blocks) {
  DeviceTraits device;
  int blocks_each = 0;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  CORANK_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, threads, 0));
  *blocks = static_cast<unsigned>(device.multiprocessors * blocks_each);
  return cudaSuccess;
}

template <typename Bits, bool kPayload>
cudaError_t SortGiants(const SegmentPass<Bits>& pass, Workspace& workspace, cudaStream_t stream) {
  if constexpr (kPayload) {
    return pass.payload_bytes == 4 ? GiantSegments<Bits, uint32_t>::Sort(pass, workspace, stream)
                                   : GiantSegments<Bits, uint64_t>::Sort(pass, workspace, stream);
  } else {
    return GiantSegments<Bits, NoPayload>::Sort(pass, workspace, stream);
  }
}

template <typename Bits, bool kPayload>
cudaError_t RunSegmentSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  using Window = SegmentWindow<Bits, kPayload>;
  using Long = LongSegments<Bits, kPayload>;
  constexpr SegmentTuning kTuning = Window::kTuning;
  const int64_t key_bytes = sort.count * static_cast<int64_t>(sizeof(Bits));
  const bool merges = sort.count > kTuning.Window();
  const int64_t splits = merges ? CeilDiv(sort.count, kTuning.Window()) * kMergeWays : 0;

  void* const d_odd_keys = workspace.CarveBytes(merges ? key_bytes : 0);
  void* const d_even_keys = workspace.CarveBytes(merges && sort.d_keys_out == nullptr ? key_bytes : 0);
  void* const d_odd_payload = workspace.CarveBytes(merges && kPayload ? sort.count * sort.payload_bytes : 0);
  void* const d_plan_memory = workspace.CarveBytes(SegmentPlan::Bytes(sort.count, kTuning.Window()));
  uint32_t* const d_splits = workspace.Carve<uint32_t>(splits);
  uint32_t* const d_high_splits = workspace.Carve<uint32_t>(sort.count > MergeSchedule::kMaxShortSplits ? splits : 0);
  SegmentPass<Bits> pass{};
  pass.order = KeyOrder<Bits, false>(sort.key_type, sort.order);
  pass.count = sort.count;
  pass.keys_in = static_cast<const Bits*>(sort.d_keys_in);
  pass.payload_in = sort.d_payload_in;
  pass.payload_bytes = sort.payload_bytes;
  pass.keys_wanted = sort.d_keys_out != nullptr;
  pass.keys = static_cast<Bits*>(pass.keys_wanted ? sort.d_keys_out : d_even_keys);
  pass.odd_keys = static_cast<Bits*>(d_odd_keys);
  pass.payload = sort.d_payload_out;
  pass.odd_payload = d_odd_payload;
  pass.plan = SegmentPlan(d_plan_memory, sort.count, kTuning.Window());
  pass.splits = d_splits;
  pass.high_splits = d_high_splits;
  if (workspace.IsSizing()) return SortGiants<Bits, kPayload>(pass, workspace, stream);

  CORANK_RETURN_IF_CUDA_ERROR(
      PlanSegments(sort.d_segment_offsets, sort.segment_count, sort.count, kTuning.Window(), pass.plan, stream));

  constexpr int kWindowBytes = static_cast<int>(sizeof(typename Window::Shared));
  const auto window_kernel = SegmentWindowKernel<Bits, kPayload>;
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(window_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kWindowBytes));
  window_kernel<<<static_cast<unsigned>(CeilDiv(sort.count, kTuning.Window())), kTuning.threads, kWindowBytes,
                  stream>>>(pass);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  if (!merges) return cudaSuccess;

  const auto long_kernel = LongSegmentsKernel<Bits, kPayload>;
  unsigned blocks = 0;
  CORANK_RETURN_IF_CUDA_ERROR(ResidentBlocks(long_kernel, kTuning.threads, &blocks));
  blocks = static_cast<unsigned>(Min<int64_t>(blocks, CeilDiv(sort.count, kTuning.Window())));
  void* arguments[] = {&pass};
  CORANK_RETURN_IF_CUDA_ERROR(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(long_kernel), dim3(blocks),
                                                          dim3(kTuning.threads), arguments, 0, stream));
  return SortGiants<Bits, kPayload>(pass, workspace, stream);
}

/// Segmented sort of integer keys of one width: explicitly instantiated in the segment_sort_u*.cu files.
template <typename Bits>
cudaError_t SegmentSortWith(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  return sort.payload_bytes != 0 ? RunSegmentSort<Bits, true>(sort, workspace, stream)
                                 : RunSegmentSort<Bits, false>(sort, workspace, stream);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_CUH_
