// k-way merge in one or two passes over memory.
//
// Algorithm: MergeRuns (run_merge.h) merges up to 32 runs into one. More inputs merge in groups first, and then the
//            groups merge. If MergeRuns reports that a run looks unsorted, CopyRuns makes the outputs a permutation of
//            the inputs.
// Work: O(n log k).
// Memory: one read and one write of keys and values for k <= 32, two for more.
// Workspace: 8 k bytes for each tile of a few thousand keys; for k > 32 one more array of keys and values.
// Stability: equal keys of an earlier run come first.
#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/merge/merge_multiway.h"
#include "kernels/cuda/merge/merge_tree.h"

namespace corank::cuda {
namespace {

struct Tuning {
  static constexpr int kThreads = 256;
  static constexpr int64_t kMaxBlocks = 1024;
  static constexpr int kRunsPerLaunch = 96;
};

/// A kernel argument.
struct RunChunk {
  const void* elements[Tuning::kRunsPerLaunch];
  int64_t ends[Tuning::kRunsPerLaunch];  // running sum of counts
  int64_t numbers[Tuning::kRunsPerLaunch];
  int size = 0;
};
static_assert(sizeof(RunChunk) <= 4096 - 64, "a kernel argument");

/// The path of an error: any number of blocks, without tuning.
template <typename T>
__global__ void __launch_bounds__(Tuning::kThreads)
    CopyRunsKernel(const __grid_constant__ RunChunk chunk, const int32_t* d_only_if, T* out) {
  if (*d_only_if == 0) return;
  for (int run = 0; run < chunk.size; ++run) {
    const int64_t start = run == 0 ? 0 : chunk.ends[run - 1];
    const T* const elements = static_cast<const T*>(chunk.elements[run]);
    const int64_t step = int64_t{gridDim.x} * Tuning::kThreads;
    for (int64_t i = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; i < chunk.ends[run] - start; i += step) {
      out[start + i] = elements != nullptr ? elements[i] : static_cast<T>(chunk.numbers[run] + i);
    }
  }
}

/// Copies elements_of(run) of every run. Null means numbers from run.first on.
template <typename T, typename ElementsOf>
cudaError_t CopyElements(const std::vector<MergeRun>& runs, ElementsOf elements_of, const int32_t* d_only_if, T* out,
                         cudaStream_t stream) {
  for (size_t begin = 0; begin < runs.size(); begin += Tuning::kRunsPerLaunch) {
    RunChunk chunk;
    int64_t count = 0;
    for (size_t i = begin; i < std::min(runs.size(), begin + Tuning::kRunsPerLaunch); ++i) {
      count += runs[i].count;
      chunk.elements[chunk.size] = elements_of(runs[i]);
      chunk.ends[chunk.size] = count;
      chunk.numbers[chunk.size++] = runs[i].first;
    }
    if (count == 0) continue;
    const auto blocks = static_cast<unsigned>(std::min(CeilDiv(count, Tuning::kThreads), Tuning::kMaxBlocks));
    CopyRunsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(chunk, d_only_if, out);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    out += count;
  }
  return cudaSuccess;
}

template <typename ElementsOf>
cudaError_t CopyElements(const std::vector<MergeRun>& runs, int element_bytes, ElementsOf elements_of,
                         const int32_t* d_only_if, void* out, cudaStream_t stream) {
  switch (element_bytes) {
    case 1:
      return CopyElements(runs, elements_of, d_only_if, static_cast<uint8_t*>(out), stream);
    case 2:
      return CopyElements(runs, elements_of, d_only_if, static_cast<uint16_t*>(out), stream);
    case 4:
      return CopyElements(runs, elements_of, d_only_if, static_cast<uint32_t*>(out), stream);
    default:
      return CopyElements(runs, elements_of, d_only_if, static_cast<uint64_t*>(out), stream);
  }
}

/// Merges one group of runs after the other. All merges share one workspace, which is as large as the largest one
/// needs.
class GroupMerger {
 public:
  GroupMerger(const MergeKind& kind, int32_t* d_suspect, const Workspace& workspace, cudaStream_t stream)
      : kind_(kind), d_suspect_(d_suspect), free_(workspace), used_(workspace), stream_(stream) {}

  cudaError_t Merge(const MergeRun* runs, int count, void* keys_out, void* values_out) {
    RunMerge merge;
    merge.key_type = kind_.key_type;
    merge.order = kind_.order;
    merge.runs = runs;
    merge.run_count = count;
    for (int i = 0; i < count; ++i) merge.count += runs[i].count;
    merge.result_count = merge.count;
    merge.d_keys_out = keys_out;
    merge.d_payload_out = values_out;
    merge.payload_bytes = kind_.value_bytes;
    merge.d_suspect = d_suspect_;
    if (merge.count == 0) return cudaSuccess;
    Workspace workspace = free_;
    CORANK_RETURN_IF_CUDA_ERROR(MergeRuns(merge, workspace, stream_));
    if (workspace.bytes() > used_.bytes()) used_ = workspace;
    return cudaSuccess;
  }
  /// The workspace, including what the largest merge carved.
  const Workspace& used() const { return used_; }

 private:
  const MergeKind& kind_;
  int32_t* const d_suspect_;
  const Workspace free_;
  Workspace used_;
  const cudaStream_t stream_;
};

}  // namespace

cudaError_t MergeMultiway(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                          int32_t* d_suspect, Workspace& workspace, cudaStream_t stream) {
  const MultiwayGroups groups(static_cast<int32_t>(runs.size()));
  std::vector<MergeRun> merged;
  if (groups.groups() > 1) {
    int64_t total = 0;
    for (const MergeRun& run : runs) total += run.count;
    auto* const keys = static_cast<char*>(workspace.CarveBytes(total * KeyBytes(kind.key_type)));
    auto* const values = static_cast<char*>(workspace.CarveBytes(total * kind.value_bytes));
    int64_t first = 0;
    for (int32_t group = 0; group < groups.groups(); ++group) {
      MergeRun run{keys + first * KeyBytes(kind.key_type), nullptr, 0, first};
      if (kind.value_bytes != 0) run.d_payload = values + first * kind.value_bytes;
      for (int32_t i = groups.FirstInput(group); i < groups.FirstInput(group + 1); ++i) {
        run.count += runs[static_cast<size_t>(i)].count;
      }
      first += run.count;
      merged.push_back(run);
    }
  }
  GroupMerger merger(kind, d_suspect, workspace, stream);
  for (size_t group = 0; group < merged.size(); ++group) {
    const int32_t begin = groups.FirstInput(static_cast<int32_t>(group));
    const int32_t end = groups.FirstInput(static_cast<int32_t>(group) + 1);
    // The next pass reads what this pass writes.
    CORANK_RETURN_IF_CUDA_ERROR(merger.Merge(&runs[static_cast<size_t>(begin)], end - begin,
                                             const_cast<void*>(merged[group].d_keys),
                                             const_cast<void*>(merged[group].d_payload)));
  }
  const std::vector<MergeRun>& last = merged.empty() ? runs : merged;
  CORANK_RETURN_IF_CUDA_ERROR(merger.Merge(last.data(), static_cast<int>(last.size()), keys_out, values_out));
  workspace = merger.used();
  return cudaSuccess;
}

cudaError_t CopyRuns(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                     const int32_t* d_only_if, cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(CopyElements(
      runs, KeyBytes(kind.key_type), [](const MergeRun& run) { return run.d_keys; }, d_only_if, keys_out, stream));
  if (kind.value_bytes == 0) return cudaSuccess;
  return CopyElements(
      runs, kind.value_bytes, [](const MergeRun& run) { return run.d_payload; }, d_only_if, values_out, stream);
}

}  // namespace corank::cuda
