#include "kernels/cuda/sort/selected_sort.h"

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/select.h"
#include "kernels/cuda/sort/sort_plan.h"

namespace corank::cuda {
namespace {

/// The first results are made in place. Others are cut out of all selected keys, which are few.
int64_t SortedCount(const SortArgs& args, const SelectedKeys& selected) {
  return args.offset > 0 ? selected.count : args.ResultCount();
}

/// The results in an array of all sorted ones.
template <typename T>
const T* ResultsIn(const SortArgs& args, const SelectedKeys& selected, const T* d_sorted, int64_t bytes) {
  const void* const d_results = reinterpret_cast<const char*>(d_sorted) + (args.offset - selected.below) * bytes;
  return static_cast<const T*>(d_results);
}

cudaError_t CopyResults(const SortArgs& args, const SelectedKeys& selected, const void* d_sorted, int64_t bytes,
                        void* d_out, cudaStream_t stream) {
  const char* const d_from = ResultsIn(args, selected, static_cast<const char*>(d_sorted), bytes);
  return cudaMemcpyAsync(d_out, d_from, static_cast<size_t>(args.ResultCount() * bytes), cudaMemcpyDeviceToDevice,
                         stream);
}

cudaError_t SortKeys(const SortArgs& args, const SelectedKeys& selected, Workspace& workspace, cudaStream_t stream,
                     SortAlgorithm* taken) {
  const int key_bytes = KeyBytes(args.key_type);
  SortArgs keys = args;
  keys.count = selected.count;
  keys.offset = 0;
  keys.limit = SortedCount(args, selected);
  keys.keys_in = selected.d_records;
  if (args.offset > 0) keys.keys_out = workspace.CarveBytes(keys.limit * key_bytes);
  *taken = TakenAlgorithm(keys);
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(keys, kAllBitsLive, workspace, stream));
  if (args.offset == 0 || workspace.IsSizing()) return cudaSuccess;
  return CopyResults(args, selected, keys.keys_out, key_bytes, args.keys_out, stream);
}

cudaError_t SortWords(const SortArgs& args, const SelectedKeys& selected, Workspace& workspace, cudaStream_t stream,
                      SortAlgorithm* taken) {
  const int64_t results = args.ResultCount();
  auto* const d_words = workspace.Carve<uint64_t>(SortedCount(args, selected));
  auto* const d_index_scratch = workspace.Carve<uint32_t>(args.indices_out == nullptr ? results : 0);
  SortArgs words;
  words.key_type = KeyType::kUint64;
  words.count = selected.count;
  words.limit = SortedCount(args, selected);
  words.keys_in = selected.d_records;
  words.keys_out = d_words;
  *taken = TakenAlgorithm(words);
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(words, kAllBitsLive, workspace, stream));
  if (workspace.IsSizing()) return cudaSuccess;
  auto* const d_indices = args.indices_out != nullptr ? static_cast<uint32_t*>(args.indices_out) : d_index_scratch;
  CORANK_RETURN_IF_CUDA_ERROR(
      WriteSelected(args, ResultsIn(args, selected, d_words, sizeof(uint64_t)), d_indices, stream));
  if (args.value_bytes == 0) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_indices, sizeof(uint32_t), args.values_out, results, stream);
}

/// Indices of unordered records come first into input order, which the sort of their keys keeps among equal ones.
cudaError_t SortIndices(const SortArgs& args, const SelectedKeys& selected, Workspace& workspace, cudaStream_t stream,
                        SortAlgorithm* taken) {
  const bool is_cut = args.offset > 0;
  const int key_bytes = KeyBytes(args.key_type);
  const int index_bytes = IndexBytes(args.count - 1);
  const int64_t results = args.ResultCount();
  const bool in_place = args.indices_out != nullptr && !is_cut;
  void* const d_ordered = workspace.CarveBytes(selected.count * index_bytes);
  void* const d_keys = workspace.CarveBytes(selected.count * key_bytes);
  void* const d_sorted_scratch = workspace.CarveBytes(in_place ? 0 : SortedCount(args, selected) * index_bytes);
  void* const d_sorted = in_place ? args.indices_out : d_sorted_scratch;

  SortArgs indices;
  indices.key_type = index_bytes == 4 ? KeyType::kUint32 : KeyType::kUint64;
  indices.count = selected.count;
  indices.keys_in = selected.d_records;
  indices.keys_out = d_ordered;
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(indices, kAllBitsLive, workspace, stream));
  if (!workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.keys_in, key_bytes, d_ordered, index_bytes, d_keys, selected.count, stream));
  }
  SortArgs part = args;
  part.count = selected.count;
  part.offset = 0;
  part.limit = SortedCount(args, selected);
  part.keys_in = d_keys;
  if (is_cut) part.keys_out = nullptr;  // the indices find them
  part.indices_out = nullptr;
  part.values_in = d_ordered;
  part.values_out = d_sorted;
  part.value_bytes = index_bytes;
  *taken = TakenAlgorithm(part);
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(part, kAllBitsLive, workspace, stream));
  if (workspace.IsSizing()) return cudaSuccess;
  const void* const d_results = ResultsIn(args, selected, static_cast<const char*>(d_sorted), index_bytes);
  if (is_cut && args.indices_out != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(CopyResults(args, selected, d_sorted, index_bytes, args.indices_out, stream));
  }
  if (is_cut && args.keys_out != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.keys_in, key_bytes, d_results, index_bytes, args.keys_out, results, stream));
  }
  if (args.value_bytes == 0) return cudaSuccess;
  return GatherRows(args.values_in, args.value_bytes, d_results, index_bytes, args.values_out, results, stream);
}

}  // namespace

cudaError_t SortSelected(const SortArgs& args, const SelectedKeys& selected, Workspace& workspace, cudaStream_t stream,
                         SortAlgorithm* taken) {
  switch (selected.form) {
    case SelectedForm::kKeys:
      return SortKeys(args, selected, workspace, stream, taken);
    case SelectedForm::kWords:
      return SortWords(args, selected, workspace, stream, taken);
    default:
      return SortIndices(args, selected, workspace, stream, taken);
  }
}

}  // namespace corank::cuda
