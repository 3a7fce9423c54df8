#include "kernels/cuda/sort/selected_sort.h"

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/sort_plan.h"

namespace corank::cuda {

cudaError_t SortSelected(const SortArgs& args, const void* d_selected, int64_t selected, Workspace& workspace,
                         cudaStream_t stream) {
  const int key_bytes = KeyBytes(args.key_type);
  const int index_bytes = IndexBytes(args.count - 1);
  const int64_t results = args.ResultCount();
  // If equal keys are distinguishable, put them into input order first.
  const bool tells_ties = args.value_bytes > 0 || args.indices_out != nullptr || IsFloat(args.key_type);
  void* const d_ordered = workspace.CarveBytes(tells_ties ? selected * index_bytes : 0);
  void* const d_keys = workspace.CarveBytes(selected * key_bytes);
  void* const d_result_scratch =
      workspace.CarveBytes(tells_ties && args.indices_out == nullptr ? results * index_bytes : 0);
  void* const d_results = args.indices_out != nullptr ? args.indices_out : d_result_scratch;

  if (tells_ties) {
    SortArgs indices;
    indices.key_type = index_bytes == 4 ? KeyType::kUint32 : KeyType::kUint64;
    indices.algorithm = SortAlgorithm::kRadix;
    indices.count = selected;
    indices.keys_in = d_selected;
    indices.keys_out = d_ordered;
    CORANK_RETURN_IF_CUDA_ERROR(RunSort(indices, kAllBitsLive, workspace, stream));
  }
  if (!workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.keys_in, key_bytes, tells_ties ? d_ordered : d_selected, index_bytes,
                                           d_keys, selected, stream));
  }
  SortArgs part = args;
  part.algorithm = SortAlgorithm::kRadix;
  part.count = selected;
  part.limit = results;
  part.keys_in = d_keys;
  part.indices_out = nullptr;
  part.values_in = tells_ties ? d_ordered : nullptr;
  part.values_out = tells_ties ? d_results : nullptr;
  part.value_bytes = tells_ties ? index_bytes : 0;
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(part, kAllBitsLive, workspace, stream));
  if (args.value_bytes == 0 || workspace.IsSizing()) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_results, index_bytes, args.values_out, results, stream);
}

}  // namespace corank::cuda
