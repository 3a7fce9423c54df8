// The operator Merge: chooses the kernels.
//
//   AUTO, MERGE_PATH, two inputs     merge_bulk.cu for keys of 4 and 8 bytes without values, otherwise merge_path.cu
//   AUTO, MERGE_PATH, more inputs    merge_multiway.cu
//   textbook algorithms              a balanced tree of pairwise merges (merge_tree.h), up to 32 pairs of a level in a
//                                    launch
//
// Work: O(n log k).
// Memory: AUTO: one read and one write of keys and values for k <= 32, two for more. Textbook: ceil(log2 k) of them.
//         Values of other widths than 4 and 8 bytes do not take part: their numbers do, and one gather moves the rows
//         at the end. k = 1: one copy.
// Workspace: 8 bytes for each section, or k of them for each tile, and 4 bytes for each pair. Several passes: one more
//            array of keys and one of values of 4 or 8 bytes, which alternate with the outputs. Wide values: one array
//            of indices, two for several passes, and 16 k bytes.
// Stability: equal keys of an earlier input come first, because neighbouring runs are in the order of inputs.
#include <vector>

#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/merge/gather_inputs.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_multiway.h"
#include "kernels/cuda/merge/merge_tree.h"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

/// A sorted array on its way through the tree.
struct SortedRun {
  const void* keys;
  const void* values;  // null: numbers from `first` on
  int64_t count;
  int64_t first;  // elements of all earlier runs
  int32_t input;  // the number of the input; -1: a merge of several
};

/// The output of a level, for element 0 of all runs.
struct LevelOutput {
  char* keys;
  char* values;
};

class Merger {
 public:
  Merger(const MergeArgs& args, Workspace& workspace, cudaStream_t stream)
      : args_(args), workspace_(workspace), tree_(args.input_count), total_(args.TotalCount()), stream_(stream) {
    const bool by_index = args.value_bytes != 0 && args.value_bytes != 4 && args.value_bytes != 8;
    const int key_bytes = KeyBytes(args.key_type);
    const int index_bytes = IndexBytes(total_ - 1);
    kind_ = {args.key_type, args.order, by_index ? index_bytes : args.value_bytes};
    section_size_ = MergeSectionSize(args.algorithm, key_bytes);

    outputs_[0] = {static_cast<char*>(args.keys_out), static_cast<char*>(args.values_out)};
    found_bytes_ = static_cast<int64_t>(sizeof(FaultCell)) + args.input_count * static_cast<int64_t>(sizeof(int32_t));
    d_found_ = static_cast<FaultCell*>(workspace.CarveBytes(found_bytes_));
    if (tree_.levels() == 0) return;
    if (by_index) {
      d_inputs_ = workspace.Carve<InputRows>(args.input_count);
      outputs_[0].values = static_cast<char*>(workspace.CarveBytes(total_ * index_bytes));
    }
    if (IsMultiway()) {
      if (workspace.IsSizing()) MergeMultiway(Runs(), kind_, nullptr, nullptr, nullptr, workspace, stream);
      return;
    }
    if (IsBulk()) return;
    d_splits_ = workspace.Carve<int64_t>(CeilDiv(total_, section_size_) + MergeGroup::kMaxPairs);
    if (tree_.levels() > 1) {
      outputs_[1].keys = static_cast<char*>(workspace.CarveBytes(total_ * key_bytes));
      if (kind_.value_bytes != 0) {
        outputs_[1].values = static_cast<char*>(workspace.CarveBytes(total_ * kind_.value_bytes));
      }
    }
  }

  cudaError_t Run() {
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_found_, 0, static_cast<size_t>(found_bytes_), stream_));
    if (tree_.levels() == 0) {
      CORANK_RETURN_IF_CUDA_ERROR(CopyOnlyInput());
    } else {
      CORANK_RETURN_IF_CUDA_ERROR(IsBulk() ? MergeInBulk() : IsMultiway() ? MergeAllInputs() : MergeTreeLevels());
      if (d_inputs_ != nullptr) {
        CORANK_RETURN_IF_CUDA_ERROR(GatherInputs(args_, outputs_[0].values, kind_.value_bytes, d_inputs_, stream_));
      }
    }
    return CheckInputs();
  }

  /// Null if the inputs are not to be checked.
  FaultCell* d_unsorted() const { return args_.check_sorted ? d_found_ : nullptr; }

 private:
  /// The flags after the cell: first whether any pair is broken or a run suspect, then whether each of the k - 1 pairs
  /// is broken.
  int32_t* d_any_broken() const { return reinterpret_cast<int32_t*>(d_found_ + 1); }

  cudaError_t CopyOnlyInput() {
    const MergeInput& input = args_.inputs[0];
    const auto count = static_cast<size_t>(input.count);
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(args_.keys_out, input.keys,
                                                count * static_cast<size_t>(KeyBytes(args_.key_type)),
                                                cudaMemcpyDeviceToDevice, stream_));
    if (args_.value_bytes == 0) return cudaSuccess;
    return cudaMemcpyAsync(args_.values_out, input.values, count * static_cast<size_t>(args_.value_bytes),
                           cudaMemcpyDeviceToDevice, stream_);
  }

  bool IsPathAlgorithm() const {
    return args_.algorithm == MergeAlgorithm::kAuto || args_.algorithm == MergeAlgorithm::kMergePath;
  }
  bool IsBulk() const { return IsPathAlgorithm() && args_.input_count == 2 && kind_.IsBulk(); }
  bool IsMultiway() const { return IsPathAlgorithm() && args_.input_count > 2; }

  std::vector<MergeRun> Runs() const {
    std::vector<MergeRun> runs;
    int64_t first = 0;
    for (int32_t i = 0; i < args_.input_count; ++i) {
      const MergeInput& input = args_.inputs[i];
      runs.push_back({input.keys, d_inputs_ == nullptr ? input.values : nullptr, input.count, first});
      first += input.count;
    }
    return runs;
  }

  cudaError_t MergeAllInputs() {
    const std::vector<MergeRun> runs = Runs();
    const LevelOutput& output = outputs_[0];
    CORANK_RETURN_IF_CUDA_ERROR(
        MergeMultiway(runs, kind_, output.keys, output.values, d_any_broken(), workspace_, stream_));
    return CopyRuns(runs, kind_, output.keys, output.values, d_any_broken(), stream_);
  }

  cudaError_t MergeInBulk() {
    const std::vector<MergeRun> runs = Runs();
    const MergePair pair{runs[0].d_keys, runs[1].d_keys,   nullptr, nullptr, runs[0].count, runs[1].count, 0,
                         runs[0].count,  outputs_[0].keys, nullptr, 0,       /*a_input=*/0, /*b_input=*/1};
    auto* const d_state = reinterpret_cast<BulkMergeState*>(d_any_broken());
    static_assert(sizeof(BulkMergeState) <= 2 * sizeof(int32_t), "what d_found_ has behind its cell for two inputs");
    CORANK_RETURN_IF_CUDA_ERROR(BulkMerge(pair, kind_, d_state, stream_));
    return CopyRuns(runs, kind_, outputs_[0].keys, nullptr, &d_state->suspect, stream_);
  }

  cudaError_t MergeTreeLevels() {
    std::vector<SortedRun> runs;
    int64_t first = 0;
    for (int32_t i = 0; i < args_.input_count; ++i) {
      const MergeInput& input = args_.inputs[i];
      runs.push_back({input.keys, d_inputs_ == nullptr ? input.values : nullptr, input.count, first, i});
      first += input.count;
    }
    int left = tree_.levels();
    if (tree_.runs() < args_.input_count) {
      CORANK_RETURN_IF_CUDA_ERROR(
          MergeLevel([&](int32_t run) { return tree_.FirstInput(run); }, tree_.runs(), outputs_[(left - 1) % 2], runs));
      --left;
    }
    for (; left > 0; --left) {
      CORANK_RETURN_IF_CUDA_ERROR(MergeLevel([](int32_t run) { return 2 * run; }, static_cast<int32_t>(runs.size()) / 2,
                                             outputs_[(left - 1) % 2], runs));
    }
    return cudaSuccess;
  }

  /// Makes `count` runs: run r consists of those from first_of(r) on, one or two of `runs`.
  template <typename FirstOf>
  cudaError_t MergeLevel(FirstOf first_of, int32_t count, const LevelOutput& output, std::vector<SortedRun>& runs) {
    std::vector<SortedRun> merged;
    MergeGroup group;
    for (int32_t r = 0; r < count; ++r) {
      const SortedRun& a = runs[static_cast<size_t>(first_of(r))];
      if (first_of(r + 1) - first_of(r) == 1) {
        merged.push_back(a);
        continue;
      }
      const SortedRun& b = runs[static_cast<size_t>(first_of(r)) + 1];
      char* const keys = output.keys + a.first * KeyBytes(args_.key_type);
      char* const values = kind_.value_bytes == 0 ? nullptr : output.values + a.first * kind_.value_bytes;
      merged.push_back({keys, values, a.count + b.count, a.first, -1});
      if (a.count + b.count == 0) continue;
      group.pairs[group.size++] = {a.keys,  b.keys, a.values, b.values,       a.count, b.count, a.first,
                                   b.first, keys,   values,   group.sections, a.input, b.input};
      group.sections += CeilDiv(a.count + b.count, section_size_);
      if (group.size == MergeGroup::kMaxPairs) {
        CORANK_RETURN_IF_CUDA_ERROR(MergePairs(group));
        group = MergeGroup();
      }
    }
    runs = std::move(merged);
    return group.size == 0 ? cudaSuccess : MergePairs(group);
  }

  cudaError_t MergePairs(const MergeGroup& group) {
    const MergeSplits splits{d_splits_, d_any_broken() + 1 + pairs_done_, d_any_broken()};
    pairs_done_ += group.size;
    CORANK_RETURN_IF_CUDA_ERROR(PartitionMerge(group, kind_, section_size_, splits, stream_));
    switch (args_.algorithm) {
      case MergeAlgorithm::kBasic:
        return BasicMerge(group, kind_, splits, stream_);
      case MergeAlgorithm::kTiled:
        return TiledMerge(group, kind_, splits, stream_);
      case MergeAlgorithm::kCircularBuffer:
        return CircularBufferMerge(group, kind_, splits, stream_);
      case MergeAlgorithm::kAuto:
      case MergeAlgorithm::kMergePath:
        break;
    }
    return PathMerge(group, kind_, splits, d_unsorted(), stream_);
  }

  /// AUTO's kernels have checked the inputs, unless a pair is broken or a run suspect. Other kernels and the copy have
  /// not.
  cudaError_t CheckInputs() {
    if (!args_.check_sorted) return cudaSuccess;
    const bool checked = IsPathAlgorithm() && tree_.levels() > 0;
    return WithKeyOrder(args_.key_type, args_.order, [&](auto order) {
      SortedCheckGroup group;
      for (int32_t i = 0; i < args_.input_count; ++i) {
        group.Add(args_.inputs[i].keys, args_.inputs[i].count, i);
        if (group.full() || i + 1 == args_.input_count) {
          CORANK_RETURN_IF_CUDA_ERROR(
              CheckSorted(group, order, checked ? d_any_broken() : nullptr, d_unsorted(), stream_));
          group = SortedCheckGroup();
        }
      }
      return cudaSuccess;
    });
  }

  const MergeArgs& args_;
  Workspace& workspace_;
  const MergeTree tree_;
  const int64_t total_;
  const cudaStream_t stream_;
  MergeKind kind_{};
  int64_t section_size_ = 0;
  LevelOutput outputs_[2] = {};
  FaultCell* d_found_ = nullptr;
  int64_t found_bytes_ = 0;
  int64_t* d_splits_ = nullptr;
  InputRows* d_inputs_ = nullptr;
  int32_t pairs_done_ = 0;
};

bool IsValid(const MergeArgs& args) {
  if (args.input_count < 0 || args.input_count > kMaxMergeInputs) return false;
  if (args.value_bytes < 0 || args.value_bytes > kMaxRecordBytes) return false;
  for (int32_t i = 0; i < args.input_count; ++i) {
    if (args.inputs[i].count < 0) return false;
  }
  return true;
}

}  // namespace

int64_t MergeWorkspaceBytes(const MergeArgs& args) {
  if (!IsValid(args) || args.TotalCount() == 0) return 0;
  Workspace workspace;
  Merger merger(args, workspace, nullptr);
  return workspace.bytes();
}

cudaError_t Merge(const MergeArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                  cudaStream_t stream) {
  if (!IsValid(args) || workspace_bytes < MergeWorkspaceBytes(args)) return cudaErrorInvalidValue;
  OperatorReport report;
  report.merge_algorithm = args.algorithm == MergeAlgorithm::kAuto ? MergeAlgorithm::kMergePath : args.algorithm;
  if (args.TotalCount() == 0) return WriteReport(report, nullptr, d_report, stream);
  Workspace workspace(d_workspace);
  Merger merger(args, workspace, stream);
  CORANK_RETURN_IF_CUDA_ERROR(merger.Run());
  return WriteReport(report, merger.d_unsorted(), d_report, stream);
}

}  // namespace corank::cuda
