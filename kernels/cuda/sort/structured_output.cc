#include "kernels/cuda/sort/structured_output.h"

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/run_merge.h"
#include "kernels/cuda/sort/counting.h"
#include "kernels/cuda/sort/reverse.h"

namespace corank::cuda {
cudaError_t WriteSorted(const SortArgs& args, cudaStream_t stream) {
  const int64_t results = args.ResultCount();
  if (args.value_bytes > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(args.values_out, args.values_in,
                                                static_cast<size_t>(results * args.value_bytes),
                                                cudaMemcpyDeviceToDevice, stream));
  }
  if (args.indices_out == nullptr) return cudaSuccess;
  return FillSequence(args.indices_out, IndexBytes(args.count - 1), 0, 1, results, stream);
}

cudaError_t WriteReversed(const SortArgs& args, cudaStream_t stream) {
  const int64_t results = args.ResultCount();
  if (args.value_bytes > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(
        ReverseRows(args.values_in, args.value_bytes, args.count, args.values_out, results, stream));
  }
  if (args.indices_out == nullptr) return cudaSuccess;
  return FillSequence(args.indices_out, IndexBytes(args.count - 1), args.count - 1, -1, results, stream);
}

cudaError_t WriteCounted(const SortArgs& args, const StatisticsScratch* d_scratch, cudaStream_t stream) {
  if (args.keys_out == nullptr) return cudaSuccess;
  return WriteCountedKeys(KeyBytes(args.key_type), &d_scratch->dictionary, args.keys_out, args.ResultCount(), stream);
}

cudaError_t WriteMerged(const SortArgs& args, const Structure& structure, Workspace& workspace, cudaStream_t stream) {
  static_assert(kMaxListedRuns <= kMaxWays);
  const bool moves_values = args.value_bytes == 4 || args.value_bytes == 8;
  const bool gathers_values = args.value_bytes > 0 && !moves_values;
  const int index_bytes = IndexBytes(args.count - 1);
  const int64_t results = args.ResultCount();
  void* const d_index_scratch = workspace.CarveBytes(gathers_values ? results * index_bytes : 0);

  MergeRun runs[kMaxListedRuns];
  for (int i = 0; i < structure.run_count; ++i) {
    const int64_t first = structure.run_starts[i];
    runs[i].d_keys = static_cast<const char*>(args.keys_in) + first * KeyBytes(args.key_type);
    runs[i].d_payload = moves_values ? static_cast<const char*>(args.values_in) + first * args.value_bytes : nullptr;
    runs[i].count = structure.run_starts[i + 1] - first;
    runs[i].first = first;
  }
  RunMerge merge;
  merge.key_type = args.key_type;
  merge.order = args.order;
  merge.runs = runs;
  merge.run_count = workspace.IsSizing() ? kMaxListedRuns : structure.run_count;
  merge.count = args.count;
  merge.result_count = results;
  merge.d_keys_out = args.keys_out;
  if (moves_values) {
    merge.d_payload_out = args.values_out;
    merge.payload_bytes = args.value_bytes;
  } else if (gathers_values || args.indices_out != nullptr) {
    merge.d_payload_out = gathers_values ? d_index_scratch : args.indices_out;
    merge.payload_bytes = index_bytes;
  }
  CORANK_RETURN_IF_CUDA_ERROR(MergeRuns(merge, workspace, stream));
  if (!gathers_values || workspace.IsSizing()) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_index_scratch, index_bytes, args.values_out, results, stream);
}

}  // namespace corank::cuda
