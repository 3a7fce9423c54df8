#include "kernels/cuda/sort/first_keys.h"

#include <algorithm>

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/sort_plan.h"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {
namespace {

cudaError_t SortKeys(const SortArgs& args, const FirstKeys& first, int64_t selected, Workspace& workspace,
                     cudaStream_t stream, SortAlgorithm* taken) {
  SortArgs keys = args;
  keys.count = selected;
  keys.limit = args.ResultCount();
  keys.keys_in = first.d_records;
  *taken = TakenAlgorithm(keys);
  return RunSort(keys, kAllBitsLive, workspace, stream);
}

cudaError_t SortWords(const SortArgs& args, const FirstKeys& first, int64_t selected, Workspace& workspace,
                      cudaStream_t stream, SortAlgorithm* taken) {
  const int64_t results = args.ResultCount();
  auto* const d_words = workspace.Carve<uint64_t>(results);
  auto* const d_index_scratch = workspace.Carve<uint32_t>(args.indices_out == nullptr ? results : 0);
  SortArgs words;
  words.key_type = KeyType::kUint64;
  words.count = selected;
  words.limit = results;
  words.keys_in = first.d_records;
  words.keys_out = d_words;
  *taken = TakenAlgorithm(words);
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(words, kAllBitsLive, workspace, stream));
  if (workspace.IsSizing()) return cudaSuccess;
  auto* const d_indices = args.indices_out != nullptr ? static_cast<uint32_t*>(args.indices_out) : d_index_scratch;
  CORANK_RETURN_IF_CUDA_ERROR(WriteSelected(args, d_words, d_indices, stream));
  if (args.value_bytes == 0) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_indices, sizeof(uint32_t), args.values_out, results, stream);
}

/// Indices of unordered records come first into input order, which the sort of their keys keeps among equal ones.
cudaError_t SortIndices(const SortArgs& args, const FirstKeys& first, int64_t selected, Workspace& workspace,
                        cudaStream_t stream, SortAlgorithm* taken) {
  const int key_bytes = KeyBytes(args.key_type);
  const int index_bytes = IndexBytes(args.count - 1);
  const int64_t results = args.ResultCount();
  void* const d_ordered = workspace.CarveBytes(selected * index_bytes);
  void* const d_keys = workspace.CarveBytes(selected * key_bytes);
  void* const d_result_scratch = workspace.CarveBytes(args.indices_out == nullptr ? results * index_bytes : 0);
  void* const d_results = args.indices_out != nullptr ? args.indices_out : d_result_scratch;

  SortArgs indices;
  indices.key_type = index_bytes == 4 ? KeyType::kUint32 : KeyType::kUint64;
  indices.count = selected;
  indices.keys_in = first.d_records;
  indices.keys_out = d_ordered;
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(indices, kAllBitsLive, workspace, stream));
  if (!workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.keys_in, key_bytes, d_ordered, index_bytes, d_keys, selected, stream));
  }
  SortArgs part = args;
  part.count = selected;
  part.limit = results;
  part.keys_in = d_keys;
  part.indices_out = nullptr;
  part.values_in = d_ordered;
  part.values_out = d_results;
  part.value_bytes = index_bytes;
  *taken = TakenAlgorithm(part);
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(part, kAllBitsLive, workspace, stream));
  if (args.value_bytes == 0 || workspace.IsSizing()) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_results, index_bytes, args.values_out, results, stream);
}

/// Writes the results, which are among `selected` records.
cudaError_t SortRecords(const SortArgs& args, const FirstKeys& first, int64_t selected, Workspace workspace,
                        cudaStream_t stream, SortAlgorithm* taken, int64_t* bytes) {
  const auto sort = [&] {
    switch (first.plan.form) {
      case SelectedForm::kKeys:
        return SortKeys(args, first, selected, workspace, stream, taken);
      case SelectedForm::kWords:
        return SortWords(args, first, selected, workspace, stream, taken);
      default:
        return SortIndices(args, first, selected, workspace, stream, taken);
    }
  };
  const cudaError_t error = sort();
  *bytes = std::max(*bytes, workspace.bytes());
  return error;
}

}  // namespace

cudaError_t CarveFirstKeys(const SortArgs& args, Workspace workspace, FirstKeys* first, int64_t* bytes) {
  first->plan = PlanSelection(args);
  if (first->plan.capacity == 0) return cudaSuccess;
  first->d_scratch = workspace.Carve<SelectionScratch>(1);
  first->d_records = workspace.CarveBytes(first->plan.capacity * first->plan.RecordBytes(args));
  first->left = workspace;
  SortAlgorithm taken;
  // The sort's algorithm depends on the number; no sort of fewer records needs more than the largest of its kind.
  for (const int64_t selected : {first->plan.likely, AutoRadixCount(8) - 1, first->plan.capacity}) {
    CORANK_RETURN_IF_CUDA_ERROR(SortRecords(args, *first, std::min(selected, first->plan.capacity),
                                            Workspace::SizingAfter(workspace), nullptr, &taken, bytes));
  }
  return cudaSuccess;
}

cudaError_t WriteFirstKeys(const SortArgs& args, const FirstKeys& first, StatisticsLetter* h_letter,
                           cudaStream_t stream, SortAlgorithm* taken) {
  const SelectionPlan& plan = first.plan;
  int64_t unused = 0;
  h_letter->arrived = 0;
  CORANK_RETURN_IF_CUDA_ERROR(SelectKeys(args, plan, first.d_records, first.d_scratch, h_letter, stream));
  if (plan.SortsBlindly()) {  // the device need not wait until the host knows the number
    CORANK_RETURN_IF_CUDA_ERROR(SortRecords(args, first, plan.likely, first.left, stream, taken, &unused));
  }
  CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter, stream));
  const auto selected = static_cast<int64_t>(h_letter->selected);
  if (selected < args.ResultCount() || selected > plan.capacity) {
    *taken = SortAlgorithm::kAuto;
    return cudaSuccess;
  }
  if (plan.SortsBlindly() && selected <= plan.likely) return cudaSuccess;
  return SortRecords(args, first, selected, first.left, stream, taken, &unused);
}

}  // namespace corank::cuda
