// The number of each row's segment, for a sort of all rows that keeps them in their segments.
//
// Algorithm: each thread searches the offsets for its rows. Adjacent rows take the same path through the offsets but
//            for its end, so a warp reads few lines.
// Work: O(n log segments).
// Memory: one write of the numbers; the offsets mostly come from the caches.
// Workspace: none.
#include "kernels/common/merge_path.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/segment_numbers.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;

template <typename Number>
__global__ void __launch_bounds__(Tuning::kThreads)
    NumberSegmentsKernel(const int64_t* offsets, int64_t segment_count, int64_t count, Number* numbers) {
  const auto before = [](int64_t a, int64_t b) { return a < b; };
  const int64_t stride = int64_t{gridDim.x} * Tuning::kThreads;
  for (int64_t row = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; row < count; row += stride) {
    // The last segment that begins at or before the row. Earlier ones that begin there are empty.
    numbers[row] = static_cast<Number>(UpperBound(offsets, segment_count, row, before) - 1);
  }
}

}  // namespace

cudaError_t NumberSegments(const ColumnSortArgs& args, void* d_segments, cudaStream_t stream) {
  const unsigned blocks = LoopingGrid(args.count, Tuning::kThreads);
  if (IndexBytes(args.segment_count - 1) == 4) {
    NumberSegmentsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(args.segment_offsets, args.segment_count, args.count,
                                                                  static_cast<uint32_t*>(d_segments));
  } else {
    NumberSegmentsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(args.segment_offsets, args.segment_count, args.count,
                                                                  static_cast<uint64_t*>(d_segments));
  }
  return cudaGetLastError();
}

}  // namespace corank::cuda
