// Gathers rows that lie in several arrays.
//
// Algorithm: kernel arguments carry the table of inputs to the device, without an upload or a wait. A block finds the
//            sources of 256 rows by binary search in the table. Its threads then walk the block's units (the largest
//            power of two, up to 16 bytes, that divides a row), so that a warp writes adjacent units.
// Work: O(count * (row_bytes + log(inputs))).
// Memory: one read of the indices, one random read of the rows, one write.
// Workspace: 16 bytes for each input.
#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/merge/gather_inputs.h"

namespace corank::cuda {
namespace {

struct Tuning {
  static constexpr int kThreads = 256;  // also the rows of a block
  static constexpr int kInputsPerLaunch = 128;
};

struct InputChunk {
  InputRows inputs[Tuning::kInputsPerLaunch];
};
static_assert(sizeof(InputChunk) <= 4096 - 64, "a kernel argument");

__global__ void WriteInputsKernel(const __grid_constant__ InputChunk chunk, int count, InputRows* d_inputs) {
  if (static_cast<int>(threadIdx.x) < count) d_inputs[threadIdx.x] = chunk.inputs[threadIdx.x];
}

template <typename Unit, typename Index>
__global__ void __launch_bounds__(Tuning::kThreads)
    GatherInputsKernel(const InputRows* d_inputs, int input_count, int units_per_row, const Index* d_indices, Unit* out,
                       int64_t count) {
  __shared__ const Unit* s_sources[Tuning::kThreads];
  const int64_t first_row = int64_t{blockIdx.x} * Tuning::kThreads;
  const int row_count = static_cast<int>(min(int64_t{Tuning::kThreads}, count - first_row));
  if (static_cast<int>(threadIdx.x) < row_count) {
    // The last input that starts at or before the row. If several start there, all but the last are empty.
    const auto index = static_cast<int64_t>(d_indices[first_row + threadIdx.x]);
    int low = 0, high = input_count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (d_inputs[middle].first <= index) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    s_sources[threadIdx.x] =
        static_cast<const Unit*>(d_inputs[low].rows) + (index - d_inputs[low].first) * units_per_row;
  }
  __syncthreads();
  const int unit_count = row_count * units_per_row;
  for (int unit = threadIdx.x; unit < unit_count; unit += Tuning::kThreads) {
    const int row = unit / units_per_row;
    out[first_row * units_per_row + unit] = s_sources[row][unit - row * units_per_row];
  }
}

template <typename Unit>
cudaError_t Gather(const MergeArgs& args, const void* d_indices, int index_bytes, const InputRows* d_inputs,
                   cudaStream_t stream) {
  const int64_t count = args.TotalCount();
  const auto blocks = static_cast<unsigned>(CeilDiv(count, Tuning::kThreads));
  const int units_per_row = args.value_bytes / static_cast<int>(sizeof(Unit));
  auto* out = static_cast<Unit*>(args.values_out);
  if (index_bytes == 4) {
    GatherInputsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(d_inputs, args.input_count, units_per_row,
                                                                static_cast<const uint32_t*>(d_indices), out, count);
  } else {
    GatherInputsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(d_inputs, args.input_count, units_per_row,
                                                                static_cast<const uint64_t*>(d_indices), out, count);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t GatherInputs(const MergeArgs& args, const void* d_indices, int index_bytes, InputRows* d_inputs,
                         cudaStream_t stream) {
  int64_t first = 0;
  for (int32_t begin = 0; begin < args.input_count; begin += Tuning::kInputsPerLaunch) {
    const int count = std::min(Tuning::kInputsPerLaunch, args.input_count - begin);
    InputChunk chunk{};
    for (int i = 0; i < count; ++i) {
      chunk.inputs[i] = {args.inputs[begin + i].values, first};
      first += args.inputs[begin + i].count;
    }
    WriteInputsKernel<<<1, Tuning::kInputsPerLaunch, 0, stream>>>(chunk, count, d_inputs + begin);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (args.value_bytes % 16 == 0) return Gather<uint4>(args, d_indices, index_bytes, d_inputs, stream);
  if (args.value_bytes % 8 == 0) return Gather<uint64_t>(args, d_indices, index_bytes, d_inputs, stream);
  if (args.value_bytes % 4 == 0) return Gather<uint32_t>(args, d_indices, index_bytes, d_inputs, stream);
  if (args.value_bytes % 2 == 0) return Gather<uint16_t>(args, d_indices, index_bytes, d_inputs, stream);
  return Gather<uint8_t>(args, d_indices, index_bytes, d_inputs, stream);
}

}  // namespace corank::cuda
