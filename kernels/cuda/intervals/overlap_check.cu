// Checks intervals for overlap. For many intervals that are not far apart, overlap_bits.cu takes over.
//
// Algorithm: a stable sort of the intervals by destination offset, with empty intervals at the end, then a comparison
//            of neighbours. One atomicMax keeps the first overlapping pair.
// Work: O(n log n), or that of a radix sort.
// Memory: that of Sort for n 8-byte keys with indices, and three more passes over n.
// Workspace: 16 bytes and an index for each interval, and that of Sort.
// Stability: among equal offsets, the interval with the lower number is the earlier one.
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/overlap_bits.h"
#include "kernels/cuda/intervals/overlap_check.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
/// The sort key of an empty interval. No non-empty interval starts there.
constexpr int64_t kEmpty = INT64_MAX;

__global__ void __launch_bounds__(kThreads)
    StartsKernel(const int64_t* offsets, const int64_t* counts, int64_t count, int64_t* starts) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) starts[i] = counts[i] > 0 ? offsets[i] : kEmpty;
}

template <typename Index>
__global__ void __launch_bounds__(kThreads) NeighboursKernel(const int64_t* starts, const Index* intervals,
                                                             const int64_t* counts, int64_t count, FaultCell* d_cell) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i + 1 >= count || starts[i + 1] == kEmpty) return;
  if (starts[i + 1] - starts[i] < counts[intervals[i]]) atomicMax(d_cell, PackFault(0, i));
}

template <typename Index>
__global__ void OverlapReportKernel(OperatorReport report, const Index* intervals, const FaultCell* d_cell,
                                    OperatorReport* d_report) {
  if (*d_cell != kNoFault) {
    const int64_t pair = FaultIndex(*d_cell);
    report.fault = OperatorReport::Fault::kOverlapping;
    report.index = static_cast<int64_t>(intervals[pair + 1]);
    report.other = static_cast<int64_t>(intervals[pair]);
  }
  *d_report = report;
}

struct Arrays {
  FaultCell* d_cell;
  int64_t* d_starts;
  int64_t* d_sorted_starts;
  void* d_intervals;
  SortArgs sort;
  int64_t sort_bytes;
  void* d_sort;
};

Arrays Carve(const MoveArgs& args, Workspace& workspace) {
  const int64_t n = args.interval_count;
  Arrays arrays{};
  arrays.d_cell = workspace.Carve<FaultCell>(1);
  arrays.d_starts = workspace.Carve<int64_t>(n);
  arrays.d_sorted_starts = workspace.Carve<int64_t>(n);
  arrays.d_intervals = workspace.CarveBytes(n * IndexBytes(n - 1));
  arrays.sort.key_type = KeyType::kInt64;
  arrays.sort.count = n;
  arrays.sort.keys_in = arrays.d_starts;
  arrays.sort.keys_out = arrays.d_sorted_starts;
  arrays.sort.indices_out = arrays.d_intervals;
  // Sort sizes its workspace by the requested outputs, so these must not be null while sizing.
  if (workspace.IsSizing()) arrays.sort.keys_out = arrays.sort.indices_out = &arrays;
  arrays.sort_bytes = SortWorkspaceBytes(arrays.sort);
  arrays.d_sort = workspace.CarveBytes(arrays.sort_bytes);
  return arrays;
}

template <typename Index>
cudaError_t CheckNeighbours(const MoveArgs& args, const Arrays& arrays, OperatorReport* d_report, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.interval_count, kThreads));
  const auto* intervals = static_cast<const Index*>(arrays.d_intervals);
  NeighboursKernel<<<blocks, kThreads, 0, stream>>>(arrays.d_sorted_starts, intervals, args.counts, args.interval_count,
                                                    arrays.d_cell);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  OverlapReportKernel<<<1, 1, 0, stream>>>(OperatorReport(), intervals, arrays.d_cell, d_report);
  return cudaGetLastError();
}

}  // namespace

int64_t OverlapCheckWorkspaceBytes(const MoveArgs& args) {
  if (TakesOverlapBits(args)) return OverlapBitsWorkspaceBytes(args);
  Workspace workspace;
  Carve(args, workspace);
  return workspace.bytes();
}

cudaError_t CheckOverlap(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                         cudaStream_t stream) {
  if (workspace_bytes < OverlapCheckWorkspaceBytes(args)) return cudaErrorInvalidValue;
  if (TakesOverlapBits(args)) return CheckOverlapBits(args, d_workspace, d_report, stream);
  Workspace workspace(d_workspace);
  const Arrays arrays = Carve(args, workspace);
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(arrays.d_cell, 0, sizeof(FaultCell), stream));
  const auto blocks = static_cast<unsigned>(CeilDiv(args.interval_count, kThreads));
  StartsKernel<<<blocks, kThreads, 0, stream>>>(args.destination_offsets, args.counts, args.interval_count,
                                                arrays.d_starts);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  OperatorReport sort_report;
  CORANK_RETURN_IF_CUDA_ERROR(Sort(arrays.sort, arrays.d_sort, arrays.sort_bytes, &sort_report, stream));
  if (IndexBytes(args.interval_count - 1) == 4) return CheckNeighbours<uint32_t>(args, arrays, d_report, stream);
  return CheckNeighbours<uint64_t>(args, arrays, d_report, stream);
}

}  // namespace corank::cuda
